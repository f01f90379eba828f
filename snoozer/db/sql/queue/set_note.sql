-- Change the note of a snooze that is not over, for its owner. A claim is kept: a reminder that is being sent may have
-- the note before.
UPDATE email_snoozes
SET note = :note,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND outcome IS NULL
RETURNING id
