-- The entries of these messages of a person, in whichever mailbox.
SELECT
    id, message_id, mailbox_id, place, folder, uidvalidity, uid,
    wanted = 'snoozed' OR returns_at IS NOT NULL AS is_snoozed
FROM messages
WHERE NOT is_kept
  AND user_email = :user_email
  AND message_id = ANY(CAST(:message_ids AS text[]))
