-- Record that the server accepted these reminders. Facts, not decisions: no claim is required, and repeating changes
-- nothing. Entries that another transaction has locked are skipped, and missing from the result; the caller retries.
WITH entry AS MATERIALIZED (
    SELECT send.id, send.state, send.claim_token AS holder, fact.*
    FROM unnest(
        CAST(:reminder_message_ids AS text[]),
        CAST(:claim_tokens AS uuid[]),
        CAST(:smtp_codes AS int[]),
        CAST(:enhanced_codes AS text[]),
        CAST(:replies AS text[]),
        CAST(:queue_ids AS text[])
    ) AS fact (reminder_message_id, claim_token, smtp_code, enhanced_code, reply, queue_id)
    JOIN reminder_sends AS send ON send.reminder_message_id = fact.reminder_message_id
    FOR NO KEY UPDATE OF send SKIP LOCKED
),
updated AS (
    UPDATE reminder_sends AS send
    SET late = (entry.state <> 'sending' OR entry.holder <> entry.claim_token),
        resolution = CASE WHEN entry.state = 'uncertain' THEN 'late reply' ELSE send.resolution END,
        resolved_by = CASE WHEN entry.state = 'uncertain' THEN 'server' ELSE send.resolved_by END,
        resolved_at = CASE WHEN entry.state = 'uncertain' THEN clock_timestamp() ELSE send.resolved_at END,
        state = 'sent',
        claim_token = entry.claim_token,
        smtp_code = entry.smtp_code,
        enhanced_code = entry.enhanced_code,
        reply = entry.reply,
        queue_id = entry.queue_id,
        sent_at = clock_timestamp()
    FROM entry
    WHERE send.id = entry.id
      AND entry.state <> 'sent'
    RETURNING send.id, send.late
)
SELECT
    entry.reminder_message_id,
    COALESCE(updated.late, FALSE) AS late,
    entry.state = 'sent' AND entry.holder <> entry.claim_token AS second_copy
FROM entry
LEFT JOIN updated ON updated.id = entry.id
