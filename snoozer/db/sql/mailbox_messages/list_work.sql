-- What is not where it should be: moves that began, then what is due, what is to be snoozed and what is to come back,
-- the oldest promise first. What is missing comes last: it may be much, and must not hide what can be moved.
SELECT
    id, user_email, message_id, header_id, fingerprint, size, internal_date, home, place, wanted, folder, uidvalidity, uid,
    missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext, returns_at, snooze_id,
    COALESCE(returns_at <= clock_timestamp(), FALSE) AS is_due
FROM mailbox_messages
WHERE mailbox_id = :mailbox_id
  AND (
      moving_to IS NOT NULL
      OR place = 'missing'
      OR wanted <> place
      OR (place = 'snoozed' AND folder <> :snoozed_folder)
      OR returns_at <= CURRENT_TIMESTAMP
  )
ORDER BY moving_to IS NULL, place = 'missing', returns_at, id
LIMIT :batch_size
