-- Occurrences were sent: promise the next ones of these recurring snoozes, with fresh attempts; fenced by the claim
-- token.
-- Their kept messages return to the top of the inbox, unread.
-- Rows that another transaction has locked are skipped: they and claims no longer owned are missing from the result.
WITH sent AS MATERIALIZED (
    SELECT snooze.id, occurrence.remind_at
    FROM unnest(
        CAST(:ids AS bigint[]),
        CAST(:claim_tokens AS uuid[]),
        CAST(:remind_at AS timestamptz[])
    ) AS occurrence (id, claim_token, remind_at)
    JOIN email_snoozes AS snooze ON snooze.id = occurrence.id
    WHERE snooze.claim_token = occurrence.claim_token
    ORDER BY snooze.id
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
),
ended AS (
    UPDATE email_snoozes AS snooze
    SET claimed_at = NULL,
        claimed_by = NULL,
        claim_token = NULL,
        lease_expires_at = NULL,
        attempts = 0,
        crash_count = 0,
        last_error = NULL,
        last_error_at = NULL,
        remind_at = sent.remind_at,
        scheduled_for = NULL,
        updated_at = CURRENT_TIMESTAMP
    FROM sent
    WHERE snooze.id = sent.id
    RETURNING snooze.id, snooze.user_email, snooze.message_id
),
returned AS (
    UPDATE kept_messages AS kept
    SET folder = 'inbox',
        unread = TRUE,
        returned = TRUE,
        surfaced_at = clock_timestamp()
    FROM ended
    WHERE kept.user_email = ended.user_email
      AND kept.message_id = ended.message_id
)
SELECT id FROM ended
