-- Record that the server accepted a reminder whose send is in the archive already: a very late fact.
-- Returns no row when the send is not in the archive either.
WITH entry AS MATERIALIZED (
    SELECT id, finished_at, state, claim_token
    FROM reminder_sends_archive
    WHERE reminder_message_id = :reminder_message_id
    FOR NO KEY UPDATE
),
updated AS (
    UPDATE reminder_sends_archive AS send
    SET late = TRUE,
        state = 'sent',
        claim_token = :claim_token,
        smtp_code = :smtp_code,
        enhanced_code = :enhanced_code,
        reply = :reply,
        queue_id = :queue_id,
        sent_at = clock_timestamp()
    FROM entry
    WHERE send.id = entry.id
      AND entry.state <> 'sent'
    RETURNING send.id
)
SELECT
    EXISTS (SELECT 1 FROM updated) AS late,
    entry.state = 'sent' AND entry.claim_token <> :claim_token AS second_copy
FROM entry
