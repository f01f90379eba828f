-- Authorise the final dots of many mails, just before they leave. Each claim must still be owned and its lease
-- unexpired. A row that another transaction has locked, perhaps to cancel it, is skipped and gets no dot.
WITH locked AS MATERIALIZED (
    SELECT send.id, requested.bytes_sha256
    FROM unnest(
        CAST(:send_ids AS bigint[]),
        CAST(:snooze_ids AS bigint[]),
        CAST(:claim_tokens AS uuid[]),
        CAST(:digests AS text[])
    ) AS requested (send_id, snooze_id, claim_token, bytes_sha256)
    JOIN email_snoozes AS snooze ON snooze.id = requested.snooze_id
    JOIN reminder_sends AS send ON send.id = requested.send_id
    WHERE snooze.claim_token = requested.claim_token
      AND snooze.lease_expires_at > clock_timestamp()
      AND send.claim_token = requested.claim_token
      AND send.state = 'reserved'
    FOR NO KEY UPDATE OF snooze, send SKIP LOCKED
)
UPDATE reminder_sends AS send
SET state = 'sending',
    dot_authorised_at = clock_timestamp(),
    bytes_sha256 = locked.bytes_sha256
FROM locked
WHERE send.id = locked.id
RETURNING send.claim_token
