-- After a dump was restored, retire what was due before `until`, because it may have been sent since the dump was
-- made.
-- Claims in the dump are cleared, and sends they had marked become uncertain. Recurring snoozes stay alive: retiring
-- one would end its series.
WITH due AS MATERIALIZED (
    SELECT id, claim_token, COALESCE(scheduled_for, remind_at) AS promise
    FROM email_snoozes
    WHERE NOT inactive
      AND remind_at < :until
      AND COALESCE(jsonb_typeof(recurrence), 'null') = 'null'
      AND id > :after
    ORDER BY id
    LIMIT :batch_size
    FOR NO KEY UPDATE
),
marked_uncertain AS (
    UPDATE reminder_sends AS send
    SET state = 'uncertain',
        uncertain_at = clock_timestamp()
    FROM due
    WHERE send.snooze_id = due.id
      AND send.claim_token = due.claim_token
      AND send.state = 'sending'
)
UPDATE email_snoozes AS snooze
SET scheduled_for = due.promise,
    claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    last_error = :error,
    last_error_at = CURRENT_TIMESTAMP,
    inactive = TRUE,
    outcome = 'retired',
    finished_at = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
FROM due
WHERE snooze.id = due.id
RETURNING
    snooze.id,
    due.promise,
    snooze_reminder_name(
        snooze.id, snooze.user_email, snooze.message_id, due.promise, CAST(:domain AS text)
    ) AS reminder_message_id
