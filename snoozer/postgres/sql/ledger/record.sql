-- The server took the reminder. A fact, not a decision, so no claim is asked for:
-- whoever heard the reply writes it down, however late, and as often as it takes.
WITH entry AS MATERIALIZED (
    SELECT id, state, claim_token
    FROM reminder_sends
    WHERE reminder_message_id = :reminder_message_id
    FOR NO KEY UPDATE
),
told AS (
    UPDATE reminder_sends AS send
    SET late = (entry.state <> 'sending' OR entry.claim_token <> :claim_token),
        resolution = CASE WHEN entry.state = 'uncertain' THEN 'late reply' ELSE send.resolution END,
        resolved_by = CASE WHEN entry.state = 'uncertain' THEN 'server' ELSE send.resolved_by END,
        resolved_at = CASE WHEN entry.state = 'uncertain' THEN clock_timestamp() ELSE send.resolved_at END,
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
    RETURNING send.late
)
SELECT
    COALESCE((SELECT late FROM told), FALSE) AS late,
    entry.state = 'sent' AND entry.claim_token <> :claim_token AS second_copy
FROM entry
