-- Messages that are not where they should be: begun moves, then due messages, messages to snooze and messages to bring
-- back, the oldest promise first. Missing messages come last: they may be many, and must not crowd out what can be
-- moved. A missing message is due if it was due when it went missing. A conversation keeps its order; of its messages
-- only the snoozed one becomes unread, unless that was taken out.
SELECT
    id, user_email, message_id, header_id, fingerprint, size, internal_date, home, aside, place, wanted, folder, uidvalidity, uid,
    missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext, returns_at, snooze_id,
    was_unread,
    COALESCE(GREATEST(returns_at, deferred_until) <= COALESCE(missing_since, clock_timestamp()), FALSE)
        AND (SELECT until FROM snooze_deferral(user_email, snooze_id, returns_at)) IS NULL
        AND snooze_pause(user_email, NULL, 'mailbox') IS NULL AS is_due,
    NOT EXISTS (
        SELECT 1
        FROM email_snoozes AS snooze
        JOIN messages AS newest ON newest.snooze_id = snooze.id AND newest.message_id = snooze.message_id
        WHERE snooze.id = messages.snooze_id
          AND newest.id <> messages.id
          AND newest.mailbox_id = messages.mailbox_id
    ) AS marks_unread,
    EXISTS (
        SELECT 1
        FROM email_snoozes AS snooze
        WHERE snooze.id = messages.snooze_id
          AND snooze.message_id = messages.message_id
          AND (snooze.subject IS NULL OR snooze.sender_email IS NULL)
    ) AS nameless
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
ORDER BY moving_to IS NULL, place = 'missing', returns_at, uid, id
LIMIT :batch_size
