-- Promise the next occurrences of recurring snoozes in place of this one, for their owner, as `skip_occurrence` does with
-- one; `lock_chosen` has locked them, and no worker holds them.
UPDATE email_snoozes AS snooze
SET attempts = 0,
    crash_count = 0,
    last_error = NULL,
    last_error_at = NULL,
    remind_at = following.remind_at,
    scheduled_for = NULL,
    deferred_until = NULL,
    deferred_by = NULL,
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:times AS timestamptz[])) AS following (id, remind_at)
WHERE snooze.id = following.id
  AND snooze.user_email = :user_email
  AND snooze.outcome IS NULL
  AND snooze.claimed_at IS NULL
  AND COALESCE(snooze.scheduled_for, snooze.remind_at) = :scheduled_for
RETURNING snooze.id, snooze.message_id
