-- Back to the top of the inbox, unread.
UPDATE kept_messages AS kept
SET folder = 'inbox',
    unread = TRUE,
    returned = TRUE,
    surfaced_at = clock_timestamp()
FROM unnest(CAST(:user_emails AS text[]), CAST(:message_ids AS text[])) AS back (user_email, message_id)
WHERE kept.user_email = back.user_email
  AND kept.message_id = back.message_id
