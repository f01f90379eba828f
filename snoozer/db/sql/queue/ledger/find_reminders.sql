-- The messages that Snoozer's reminders to this person are about. A digest is about several, and represents itself.
SELECT send.reminder_message_id, send.message_id, send.sender_email
FROM reminder_sends AS send
WHERE send.reminder_message_id = ANY(CAST(:reminder_message_ids AS text[]))
  AND send.user_email = :user_email
  AND NOT EXISTS (
      SELECT 1
      FROM digests AS digest
      JOIN digest_members AS member ON member.digest_id = digest.id
      WHERE digest.snooze_id = send.snooze_id
        AND digest.scheduled_for = send.scheduled_for
  )
