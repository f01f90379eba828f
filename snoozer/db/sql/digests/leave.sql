-- Take promises out of these digests, whose bytes are not fixed, that are over or other ones by now.
DELETE FROM digest_members AS member
WHERE member.digest_id = ANY(:ids)
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS snooze
      WHERE snooze.id = member.snooze_id
        AND NOT snooze.inactive
        AND snooze.scheduled_for = member.scheduled_for
  )
