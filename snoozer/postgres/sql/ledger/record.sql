-- The server took the reminder. A fact, not a decision, so no claim is asked for:
-- whoever heard the reply writes it down, however late, and as often as it takes.
WITH told AS (
    UPDATE reminder_sends
    SET late = (state <> 'sending' OR claim_token <> :claim_token),
        resolution = CASE WHEN state = 'uncertain' THEN 'late reply' ELSE resolution END,
        resolved_by = CASE WHEN state = 'uncertain' THEN 'server' ELSE resolved_by END,
        resolved_at = CASE WHEN state = 'uncertain' THEN clock_timestamp() ELSE resolved_at END,
        state = 'sent',
        claim_token = :claim_token,
        smtp_code = :smtp_code,
        enhanced_code = :enhanced_code,
        reply = :reply,
        queue_id = :queue_id,
        sent_at = clock_timestamp()
    WHERE id = :send_id
      AND state <> 'sent'
    RETURNING late
)
SELECT late, FALSE AS second_copy
FROM told
UNION ALL
SELECT FALSE, claim_token <> :claim_token
FROM reminder_sends
WHERE id = :send_id
  AND state = 'sent'
  AND NOT EXISTS (SELECT 1 FROM told)
