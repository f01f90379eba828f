-- Lock snoozes that their owner has chosen, in the order of their ids, so that two transactions that change many of them
-- wait for each other and do not deadlock.
-- By their ids, or the live ones of these messages. `was` is what `put_back` takes. What a rest defers is not due.
SELECT
    id,
    message_id,
    subject,
    sender_email,
    outcome,
    inactive,
    claimed_at IS NOT NULL AS claimed,
    COALESCE(scheduled_for, remind_at) AS promise,
    GREATEST(COALESCE(scheduled_for, remind_at), deferred_until) <= CURRENT_TIMESTAMP AS is_due,
    recurrence,
    zone,
    to_jsonb(snooze) - 'user_email' - 'subject' - 'sender_email' - 'traceparent' AS was
FROM email_snoozes AS snooze
WHERE user_email = :user_email
  AND (
      id = ANY(CAST(:ids AS bigint[]))
      OR (message_id = ANY(CAST(:message_ids AS text[])) AND NOT inactive)
  )
ORDER BY id
FOR NO KEY UPDATE
