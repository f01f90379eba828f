-- Their owner's day changed: what a rest deferred is due when it was promised again, unless it still waits for the end of
-- the present one. Where the day defers it all the same, its next claim finds that out.
-- Rows that another transaction has locked are skipped, and so is what waits for another reason.
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
