-- Record what a mail system reports about a reminder that was handed to it: an event of each snooze that its mail is
-- about, live or archived, once for each kind and code. Returns the address that it went to, when it was handed over, and whether
-- this is new; zero rows without such a reminder.
WITH reported AS MATERIALIZED (
    SELECT snooze_id, scheduled_for, COALESCE(recipient, user_email) AS recipient, dot_authorised_at
    FROM reminder_sends
    WHERE snooze_id = :snooze_id
      AND scheduled_for = :scheduled_for
      AND channel = 'email'
      AND dot_authorised_at IS NOT NULL
    UNION ALL
    SELECT snooze_id, scheduled_for, COALESCE(recipient, user_email) AS recipient, dot_authorised_at
    FROM reminder_sends_archive
    WHERE snooze_id = :snooze_id
      AND scheduled_for = :scheduled_for
      AND channel = 'email'
      AND dot_authorised_at IS NOT NULL
),
entered AS (
    INSERT INTO snooze_events (snooze_id, kind, actor, route, detail)
    SELECT
        about.snooze_id,
        :kind,
        'mail',
        'report',
        jsonb_build_object(
            'promise', to_char(about.scheduled_for AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'),
            'code', CAST(:code AS text),
            'text', CAST(:text AS text)
        )
    FROM (
        SELECT snooze_id, scheduled_for
        FROM reported
        UNION
        SELECT member.snooze_id, member.scheduled_for
        FROM reported
        JOIN digests AS digest
          ON digest.snooze_id = reported.snooze_id
         AND digest.scheduled_for = reported.scheduled_for
        JOIN digest_members AS member ON member.digest_id = digest.id
    ) AS about
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT
    reported.recipient,
    reported.dot_authorised_at AS handed_over_at,
    EXISTS (SELECT 1 FROM entered) AS is_new
FROM reported
