-- Pause a snooze for its owner: it keeps its promise, and nothing is sent or returned until it is resumed.
-- The claim is cleared, so a worker that holds the row loses it. Only what promises `scheduled_for` is paused. What operators
-- have set aside is its owner's to resume from then on.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    inactive = TRUE,
    paused_by = NULL,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND outcome IS NULL
  AND (NOT inactive OR paused_by IS NOT NULL)
  AND COALESCE(scheduled_for, remind_at) = :scheduled_for
RETURNING id
