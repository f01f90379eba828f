-- The messages that reminders of ours to this person are about.
SELECT reminder_message_id, message_id, sender_email
FROM reminder_sends
WHERE reminder_message_id = ANY(CAST(:reminder_message_ids AS text[]))
  AND user_email = :user_email
