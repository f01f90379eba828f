-- Record that the server refused these reminders, or that no dot was sent, unless another worker has taken the entry
-- over. A temporary refusal leaves the entry reserved, a permanent one makes it failed; refusals of the recipient are
-- counted.
UPDATE reminder_sends AS send
SET state = CASE WHEN refusal.permanent THEN 'failed' ELSE 'reserved' END,
    bytes_sha256 = CASE WHEN send.uncertain_at IS NULL THEN NULL ELSE send.bytes_sha256 END,
    smtp_code = refusal.smtp_code,
    enhanced_code = refusal.enhanced_code,
    reply = refusal.reply,
    refusals = LEAST(send.refusals, 30000) + CAST(refusal.of_recipient AS integer),
    resolution = CASE WHEN send.state = 'uncertain' THEN 'late refusal' ELSE send.resolution END,
    resolved_by = CASE WHEN send.state = 'uncertain' THEN 'server' ELSE send.resolved_by END,
    resolved_at = CASE WHEN send.state = 'uncertain' THEN clock_timestamp() ELSE send.resolved_at END
FROM unnest(
    CAST(:send_ids AS bigint[]),
    CAST(:claim_tokens AS uuid[]),
    CAST(:permanents AS boolean[]),
    CAST(:of_recipients AS boolean[]),
    CAST(:smtp_codes AS int[]),
    CAST(:enhanced_codes AS text[]),
    CAST(:replies AS text[])
) AS refusal (send_id, claim_token, permanent, of_recipient, smtp_code, enhanced_code, reply)
WHERE send.id = refusal.send_id
  AND send.claim_token = refusal.claim_token
  AND send.state IN ('reserved', 'sending', 'uncertain')
RETURNING send.id
