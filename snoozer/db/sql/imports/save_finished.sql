-- Enter an import's history into the archive, with its sends; with `with_past` also snoozes that should have come back
-- since, as cancelled now. No one is notified: the queue does not see it. The months must exist. Snoozes that the owner
-- has already are left out, so that confirming an import twice adds nothing.
WITH saved AS (
    INSERT INTO email_snoozes_archive (
        id, user_email, message_id, subject, sender_email, remind_at, scheduled_for, attempts, max_attempts, inactive,
        created_at, updated_at, outcome, finished_at, priority, crash_count, bucket, note, recurrence, reply_policy,
        reply_scope, wall_time, zone, time_kind, schema_version, behind_key, at_any_hour, reference
    )
    SELECT
        nextval('email_snoozes_id_seq'), :user_email, read.message_id, read.subject, read.sender_email, read.promised,
        read.promised, 0, 5, TRUE, read.made_at, CURRENT_TIMESTAMP,
        CASE read.state WHEN 'sent' THEN 'sent' ELSE 'cancelled' END, COALESCE(read.finished_at, CURRENT_TIMESTAMP), 0,
        0, snooze_bucket(:user_email), read.note, read.recurrence, read.reply_policy, read.reply_scope, read.wall_time,
        read.zone, read.time_kind, 1, FALSE, read.at_any_hour,
        read.reference
    FROM import_rows AS read
    WHERE read.import_id = :import_id
      AND read.verdict = 'new'
      AND (
          read.state IN ('sent', 'cancelled')
          OR (:with_past AND read.state = 'waiting' AND read.promised <= CURRENT_TIMESTAMP)
      )
    RETURNING id, message_id, created_at, finished_at, zone, bucket
),
sent AS (
    INSERT INTO reminder_sends_archive (
        finished_at, id, snooze_id, user_email, message_id, scheduled_for, channel, bucket, state, zone, resends, late,
        reserved_at, sent_at, resolution, resolved_by, resolved_at, looks, refusals
    )
    SELECT
        saved.finished_at, nextval('reminder_sends_id_seq'), saved.id, :user_email, saved.message_id,
        CAST(pair ->> 0 AS timestamptz), 'email', saved.bucket, 'sent', COALESCE(saved.zone, 'UTC'), 0, FALSE,
        CAST(pair ->> 0 AS timestamptz), CAST(pair ->> 1 AS timestamptz), 'imported', 'import', CURRENT_TIMESTAMP, 0, 0
    FROM saved
    JOIN import_rows AS read
        ON read.import_id = :import_id AND read.message_id = saved.message_id AND read.made_at = saved.created_at
    CROSS JOIN LATERAL jsonb_array_elements(read.sends) AS pair
)
SELECT id FROM saved
