-- Note that an act on many messages was undone, as far as possible.
UPDATE bulk_acts
SET undone_at = CURRENT_TIMESTAMP
WHERE account_id = :account_id
  AND id = :id
RETURNING id
