-- What is not where it should be: moves that began, then what is due, what is to be snoozed and what is to come back,
-- the oldest promise first. What is missing comes last: it may be much, and must not hide what can be moved.
SELECT
    id, user_email, message_id, header_id, fingerprint, size, internal_date, home, aside, place, wanted, folder, uidvalidity, uid,
    missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext, returns_at, snooze_id,
    COALESCE(GREATEST(returns_at, deferred_until) <= clock_timestamp(), FALSE)
        AND (SELECT until FROM snooze_deferral(user_email, snooze_id, returns_at)) IS NULL
        AND snooze_pause(user_email, NULL, 'mailbox') IS NULL AS is_due
FROM messages
WHERE mailbox_id = :mailbox_id
  AND (
      moving_to IS NOT NULL
      OR place = 'missing'
      OR wanted <> place
      OR (place = 'snoozed' AND folder <> :snoozed_folder)
      OR (
          GREATEST(returns_at, deferred_until) <= CURRENT_TIMESTAMP
          AND returns_at IS NOT NULL
          AND (SELECT until FROM snooze_deferral(user_email, snooze_id, returns_at)) IS NULL
          AND snooze_pause(user_email, NULL, 'mailbox') IS NULL
      )
  )
ORDER BY moving_to IS NULL, place = 'missing', returns_at, id
LIMIT :batch_size
