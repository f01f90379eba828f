-- The given cases whose message has a newer case in the same operation, even one whose turn is still to come, and
-- whether a reminder of such a newer case is uncertain.
SELECT snooze.id, bool_or(send.id IS NOT NULL) AS is_uncertain
FROM email_snoozes AS snooze
JOIN email_snoozes AS newer
  ON md5(newer.message_id) = md5(snooze.message_id)
 AND newer.message_id = snooze.message_id
 AND newer.user_email = snooze.user_email
 AND newer.outcome = 'retired'
 AND newer.id > snooze.id
JOIN operation_members AS member ON member.snooze_id = newer.id AND member.operation_id = :operation_id
LEFT JOIN reminder_sends AS send
  ON send.user_email = newer.user_email
 AND send.message_id = newer.message_id
 AND send.scheduled_for = newer.scheduled_for
 AND send.channel = 'email'
 AND send.state = 'uncertain'
WHERE snooze.id = ANY(:ids)
  AND snooze.outcome = 'retired'
GROUP BY snooze.id
