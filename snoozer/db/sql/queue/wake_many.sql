-- Promise snoozes that are asleep for this moment, for their owner; `lock_chosen` has locked them. What repeats goes on
-- with `recurrence`, from which the replaced occurrence was taken.
-- Nothing that is due already is changed: no worker holds the row. What a rest defers is not.
UPDATE email_snoozes AS snooze
SET remind_at = CURRENT_TIMESTAMP,
    scheduled_for = NULL,
    deferred_until = NULL,
    deferred_by = NULL,
    at_any_hour = snooze.at_any_hour OR chosen.recurrence IS NULL,
    recurrence = CAST(chosen.recurrence AS jsonb),
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:recurrences AS text[])) AS chosen (id, recurrence)
WHERE snooze.id = chosen.id
  AND snooze.user_email = :user_email
  AND NOT snooze.inactive
  AND snooze.claimed_at IS NULL
  AND GREATEST(COALESCE(snooze.scheduled_for, snooze.remind_at), snooze.deferred_until) > CURRENT_TIMESTAMP
RETURNING snooze.id, snooze.message_id
