-- Make up to batch_size of a person's waiting snoozes due now, each for the last time: the account is being deleted.
-- Rows that a worker holds, and rows that are due already, stay as they are.
WITH waiting AS MATERIALIZED (
    SELECT id
    FROM email_snoozes AS snooze
    WHERE user_email = :user_email
      AND outcome IS NULL
      AND NOT inactive
      AND claimed_at IS NULL
      AND (
          snooze_promise(snooze) > CURRENT_TIMESTAMP
          OR recurrence IS NOT NULL
          OR deferred_until IS NOT NULL
      )
    ORDER BY remind_at, id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET remind_at = LEAST(snooze_promise(snooze), CURRENT_TIMESTAMP),
    recurrence = NULL,
    deferred_until = NULL,
    deferred_by = NULL,
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
FROM waiting
WHERE snooze.id = waiting.id
RETURNING snooze.id
