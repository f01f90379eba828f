-- Authorise the final dot, in the last instant before it leaves. The claim must still be ours and its lease run;
-- a cancelled row holds no claim, and the lock makes a cancellation that is under way come first.
WITH held AS MATERIALIZED (
    SELECT id
    FROM email_snoozes
    WHERE id = :snooze_id
      AND claim_token = :claim_token
      AND lease_expires_at > clock_timestamp()
    FOR NO KEY UPDATE
)
UPDATE reminder_sends AS send
SET state = 'sending',
    dot_authorised_at = clock_timestamp(),
    bytes_sha256 = :bytes_sha256
FROM held
WHERE send.id = :send_id
  AND send.claim_token = :claim_token
  AND send.state = 'reserved'
RETURNING send.id
