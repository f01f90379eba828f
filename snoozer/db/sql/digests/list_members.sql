-- The content of these digests: their members, in order.
SELECT
    member.digest_id,
    member.snooze_id,
    member.scheduled_for,
    entry.subject,
    entry.sender_email,
    entry.note
FROM digest_members AS member
JOIN reminder_sends AS entry
  ON entry.snooze_id = member.snooze_id
 AND entry.scheduled_for = member.scheduled_for
 AND entry.channel = 'email'
WHERE member.digest_id = ANY(:ids)
ORDER BY member.digest_id, member.position
