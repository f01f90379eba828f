-- Record that the server refused the reminder, or that no dot was sent, unless another worker has taken the entry
-- over.
-- A temporary refusal leaves the entry reserved, a permanent one makes it failed.
UPDATE reminder_sends
SET state = CASE WHEN :permanent THEN 'failed' ELSE 'reserved' END,
    bytes_sha256 = CASE WHEN uncertain_at IS NULL THEN NULL ELSE bytes_sha256 END,
    smtp_code = :smtp_code,
    enhanced_code = :enhanced_code,
    reply = :reply,
    resolution = CASE WHEN state = 'uncertain' THEN 'late refusal' ELSE resolution END,
    resolved_by = CASE WHEN state = 'uncertain' THEN 'server' ELSE resolved_by END,
    resolved_at = CASE WHEN state = 'uncertain' THEN clock_timestamp() ELSE resolved_at END
WHERE id = :send_id
  AND claim_token = :claim_token
  AND state IN ('reserved', 'sending', 'uncertain')
RETURNING id
