-- Take up to batch_size due snoozes for one worker, oldest promise first. Nobody waits and nobody shares a row.
-- The first claim writes the promise down; rows that once lost their worker (suspects) are asked for apart.
WITH due AS MATERIALIZED (
    SELECT id
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts < max_attempts
      AND (crash_count > 0) = :suspects
    ORDER BY remind_at, id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = CURRENT_TIMESTAMP,
    claimed_by = :worker,
    claim_token = gen_random_uuid(),
    lease_expires_at = CURRENT_TIMESTAMP + :lease,
    scheduled_for = COALESCE(snooze.scheduled_for, snooze.remind_at),
    updated_at = CURRENT_TIMESTAMP
FROM due
WHERE snooze.id = due.id
RETURNING
    snooze.id,
    snooze.claim_token,
    snooze.user_email,
    snooze.message_id,
    snooze.scheduled_for,
    snooze.attempts,
    snooze.max_attempts,
    snooze.crash_count,
    snooze.lease_expires_at,
    snooze.traceparent
