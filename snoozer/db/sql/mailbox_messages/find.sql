-- The entry of a message of this person, in whichever mailbox.
SELECT
    id, mailbox_id, place, folder, uidvalidity, uid,
    wanted = 'snoozed' OR returns_at IS NOT NULL AS is_snoozed
FROM mailbox_messages
WHERE user_email = :user_email
  AND message_id = :message_id
