-- Record the rest that lasts or comes next for this person: right until `known_until`, computed again from
-- `refresh_at`.
UPDATE day_shapes
SET rest_from = :rest_from,
    rest_until = :rest_until,
    rest_reason = :rest_reason,
    known_until = :known_until,
    refresh_at = :refresh_at,
    changed = :changed
WHERE account_id = :account_id
