-- Finish snoozes whose reminders were sent; fenced by the claim token.
-- Their kept messages return to the top of the inbox, unread.
-- Rows that another transaction has locked, or whose message it has, are skipped: they and claims no longer owned are
-- missing from the result.
WITH requested AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS pair (id, claim_token)
),
message AS MATERIALIZED (
    SELECT kept.id
    FROM requested
    JOIN email_snoozes AS snooze ON snooze.id = requested.id
    JOIN kept_messages AS kept ON kept.user_email = snooze.user_email AND kept.message_id = snooze.message_id
    FOR NO KEY UPDATE OF kept SKIP LOCKED
),
locked AS MATERIALIZED (
    SELECT snooze.id
    FROM requested
    JOIN email_snoozes AS snooze ON snooze.id = requested.id
    WHERE snooze.claim_token = requested.claim_token
      AND COALESCE(
          (
              SELECT kept.id IN (SELECT message.id FROM message)
              FROM kept_messages AS kept
              WHERE kept.user_email = snooze.user_email
                AND kept.message_id = snooze.message_id
          ),
          TRUE
      )
    ORDER BY snooze.id
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
),
ended AS (
    UPDATE email_snoozes AS snooze
    SET claimed_at = NULL,
        claimed_by = NULL,
        claim_token = NULL,
        lease_expires_at = NULL,
        inactive = TRUE,
        outcome = 'sent',
        finished_at = CURRENT_TIMESTAMP,
        updated_at = CURRENT_TIMESTAMP
    FROM locked
    WHERE snooze.id = locked.id
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
