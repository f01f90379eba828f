-- Change how workers treat a snooze that is not over, for its owner: priority, tries, key and reference, where given.
-- One that a worker holds is left. Claims look at it again: it may be the next of another key.
UPDATE email_snoozes
SET priority = COALESCE(:priority, priority),
    max_attempts = COALESCE(:max_attempts, max_attempts),
    serialization_key = CASE WHEN :keeps_key THEN serialization_key ELSE CAST(:serialization_key AS text) END,
    reference = COALESCE(CAST(:reference AS text), reference),
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND outcome IS NULL
  AND claimed_at IS NULL
RETURNING id
