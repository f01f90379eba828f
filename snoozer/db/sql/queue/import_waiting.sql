-- Enqueue an import's rows that still wait or are paused, with their creation times, by which a second import
-- recognises them. With `with_past` also rows that should have come back since: they come back now, and recurring ones
-- continue after that. A message that is snoozed already keeps its snooze.
INSERT INTO email_snoozes AS snooze (
    user_email, message_id, subject, sender_email, remind_at, note, recurrence, wall_time, zone, time_kind, inactive,
    reply_policy, reply_scope, reply_since, created_at, at_any_hour, reference
)
SELECT
    :user_email, read.message_id, read.subject, read.sender_email,
    CASE WHEN read.state = 'waiting' THEN GREATEST(read.promised, CURRENT_TIMESTAMP) ELSE read.promised END,
    read.note, read.recurrence, read.wall_time, read.zone, read.time_kind, read.state = 'paused', read.reply_policy,
    read.reply_scope, CASE WHEN read.reply_policy IS NOT NULL THEN CURRENT_TIMESTAMP END, read.made_at,
    read.at_any_hour, read.reference
FROM import_rows AS read
WHERE read.import_id = :import_id
  AND read.verdict = 'new'
  AND read.state IN ('waiting', 'paused')
  AND (:with_past OR read.state = 'paused' OR read.promised > CURRENT_TIMESTAMP)
ORDER BY read.line
ON CONFLICT (user_email, message_id) WHERE NOT inactive DO NOTHING
RETURNING
    snooze.id,
    snooze.message_id,
    EXISTS (
        SELECT 1
        FROM messages AS kept
        WHERE kept.user_email = snooze.user_email
          AND kept.message_id = snooze.message_id
          AND kept.is_kept
    ) AS is_kept
