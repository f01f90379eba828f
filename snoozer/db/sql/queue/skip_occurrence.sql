-- Promise the next occurrence of a recurring snooze in place of this one, for its owner; this one is not sent again.
-- The claim is cleared, so a worker that holds the row loses it. Only the promise in `scheduled_for` is replaced.
UPDATE email_snoozes
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    attempts = 0,
    crash_count = 0,
    last_error = NULL,
    last_error_at = NULL,
    remind_at = :remind_at,
    scheduled_for = NULL,
    deferred_until = NULL,
    deferred_by = NULL,
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND outcome IS NULL
  AND COALESCE(scheduled_for, remind_at) = :scheduled_for
RETURNING id
