-- The owner's day changed: snoozes that a rest deferred are due at their promised times again, unless they still wait
-- for the end of the present rest. If the changed day defers a snooze all the same, its next claim finds that out. Rows
-- locked by another transaction are skipped, and so are rows that wait for another reason.
WITH deferred AS MATERIALIZED (
    SELECT id
    FROM email_snoozes
    WHERE user_email = :user_email
      AND outcome IS NULL
      AND NOT inactive
      AND claimed_at IS NULL
      AND remind_at > CURRENT_TIMESTAMP
      AND remind_at = deferred_until
      AND deferred_until IS DISTINCT FROM CAST(:rest_until AS timestamptz)
    ORDER BY remind_at, id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET remind_at = snooze_promise(snooze),
    deferred_until = NULL,
    deferred_by = NULL,
    updated_at = CURRENT_TIMESTAMP
FROM deferred
WHERE snooze.id = deferred.id
RETURNING snooze.id
