-- The server took a reminder whose send lies in the archive by now, or was dropped with its month: a very late fact.
WITH told AS (
    UPDATE reminder_sends_archive
    SET late = TRUE,
        state = 'sent',
        claim_token = :claim_token,
        smtp_code = :smtp_code,
        enhanced_code = :enhanced_code,
        reply = :reply,
        queue_id = :queue_id,
        sent_at = clock_timestamp()
    WHERE id = :send_id
      AND state <> 'sent'
    RETURNING id
)
SELECT
    EXISTS (SELECT 1 FROM told) AS late,
    EXISTS (
        SELECT 1
        FROM reminder_sends_archive
        WHERE id = :send_id
          AND state = 'sent'
          AND claim_token <> :claim_token
    ) AS second_copy
