-- Remove promises that have ended or moved from these digests, whose bytes are not fixed.
DELETE FROM digest_members AS member
WHERE member.digest_id = ANY(:ids)
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS snooze
      WHERE snooze.id = member.snooze_id
        AND NOT snooze.inactive
        AND snooze.scheduled_for = member.scheduled_for
  )
