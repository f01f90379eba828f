-- Return the messages of these snoozes to the top of the inbox, unread.
UPDATE kept_messages AS kept
SET folder = 'inbox',
    unread = TRUE,
    returned = TRUE,
    surfaced_at = clock_timestamp()
FROM email_snoozes AS snooze
WHERE snooze.id = ANY(:snooze_ids)
  AND kept.user_email = snooze.user_email
  AND kept.message_id = snooze.message_id
