-- Promise what a person still waits for for this moment, up to batch_size rows, each for the last time: its owner leaves.
-- What a worker holds, and what is due already, stays as it is.
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
