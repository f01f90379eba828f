-- Back to the top of the inbox, unread.
UPDATE kept_messages
SET folder = 'inbox',
    unread = TRUE,
    returned = TRUE,
    surfaced_at = clock_timestamp()
WHERE user_email = :user_email
  AND message_id = :message_id
RETURNING id
