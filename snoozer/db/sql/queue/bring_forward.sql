-- A reply came: promise a snooze that waits for one for this moment, for its owner, in place of `scheduled_for`. What
-- repeats goes on with `recurrence`, from which the replaced occurrence was taken.
-- Nothing that is due already is changed: no worker holds the row.
UPDATE email_snoozes
SET remind_at = CURRENT_TIMESTAMP,
    scheduled_for = NULL,
    deferred_until = NULL,
    deferred_by = NULL,
    recurrence = CAST(:recurrence AS jsonb),
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND user_email = :user_email
  AND NOT inactive
  AND claimed_at IS NULL
  AND reply_policy = 'until_reply'
  AND COALESCE(scheduled_for, remind_at) = :scheduled_for
  AND COALESCE(scheduled_for, remind_at) > CURRENT_TIMESTAMP
RETURNING id
