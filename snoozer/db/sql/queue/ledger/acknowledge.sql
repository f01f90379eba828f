-- The person acted on this reminder, so a copy arrived: a send that was uncertain, or waits to be sent again because of
-- that, becomes sent. A dot that is in flight still waits for the server's reply. A reminder in a digest arrived
-- with the digest; an act elsewhere proves nothing about a digest, which contains other promises, too.
UPDATE reminder_sends
SET state = 'sent',
    sent_at = dot_authorised_at,
    resolution = 'answered',
    resolved_by = 'user',
    resolved_at = clock_timestamp()
WHERE id = ANY(ARRAY(
    SELECT send.id
    FROM reminder_sends AS send
    WHERE send.snooze_id = :snooze_id
      AND send.scheduled_for = :scheduled_for
      AND (
          :by_mail
          OR NOT EXISTS (
              SELECT 1
              FROM digests AS digest
              JOIN digest_members AS member ON member.digest_id = digest.id
              WHERE digest.snooze_id = send.snooze_id
                AND digest.scheduled_for = send.scheduled_for
          )
      )
    UNION ALL
    SELECT lead.id
    FROM digest_members AS member
    JOIN digests AS digest ON digest.id = member.digest_id
    JOIN reminder_sends AS lead
      ON lead.snooze_id = digest.snooze_id
     AND lead.scheduled_for = digest.scheduled_for
     AND lead.channel = 'email'
    WHERE member.snooze_id = :snooze_id
      AND member.scheduled_for = :scheduled_for
      AND :by_mail
))
  AND (
      state = 'uncertain'
      OR (state = 'failed' AND resolution IN ('resend', 'late refusal') AND dot_authorised_at < uncertain_at)
  )
RETURNING id
