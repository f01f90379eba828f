-- The message that one of our reminders to this person is about.
SELECT message_id, sender_email
FROM reminder_sends
WHERE reminder_message_id = :reminder_message_id
  AND user_email = :user_email
