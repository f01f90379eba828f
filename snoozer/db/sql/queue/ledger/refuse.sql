-- Record that the server refused these reminders, or that no dot was sent, unless another worker has taken the entry
-- over: the entry has the token of the claim, or of the claim before it if this one authorised no dot. The next claim may
-- authorise another mail; refusals of the recipient are counted.
UPDATE reminder_sends AS send
SET state = 'failed',
    claim_token = refusal.claim_token,
    bytes_sha256 = CASE WHEN send.uncertain_at IS NULL THEN NULL ELSE send.bytes_sha256 END,
    smtp_code = refusal.smtp_code,
    enhanced_code = refusal.enhanced_code,
    reply = refusal.reply,
    refusals = LEAST(send.refusals, 30000) + CAST(refusal.of_recipient AS integer),
    resolution = CASE WHEN send.state = 'uncertain' THEN 'late refusal' ELSE send.resolution END,
    resolved_by = CASE WHEN send.state = 'uncertain' THEN 'server' ELSE send.resolved_by END,
    resolved_at = CASE WHEN send.state = 'uncertain' THEN clock_timestamp() ELSE send.resolved_at END
FROM unnest(
    CAST(:reminder_message_ids AS text[]),
    CAST(:claim_tokens AS uuid[]),
    CAST(:former_tokens AS uuid[]),
    CAST(:of_recipients AS boolean[]),
    CAST(:smtp_codes AS int[]),
    CAST(:enhanced_codes AS text[]),
    CAST(:replies AS text[])
) AS refusal (reminder_message_id, claim_token, former_token, of_recipient, smtp_code, enhanced_code, reply)
WHERE send.reminder_message_id = refusal.reminder_message_id
  AND send.state <> 'sent'
  AND (
      send.claim_token = refusal.claim_token
      OR (send.claim_token = refusal.former_token AND send.state <> 'sending')
  )
RETURNING send.reminder_message_id
