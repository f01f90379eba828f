-- How late reminders are, in bands and percentiles: reminders sent in the last hour, and reminders that are due and wait.
-- In seconds from the promise, or from the end of the rest that deferred it; and of how many people. Paused reminders are not late, nor are
-- future ones. At most `most` are measured of each kind, the newest of the sent ones; with `only`, of one kind.
WITH waiting AS MATERIALIZED (
    SELECT unsent.promise, unsent.person
    FROM (
        (
            SELECT snooze_due_at(snooze) AS promise, lower(user_email) AS person
            FROM email_snoozes AS snooze
            WHERE NOT inactive
              AND claimed_at IS NULL
              AND remind_at <= CURRENT_TIMESTAMP
            ORDER BY remind_at
            LIMIT CAST(:most AS bigint)
        )
        UNION ALL
        (
            SELECT snooze_due_at(snooze), lower(user_email)
            FROM email_snoozes AS snooze
            WHERE NOT inactive
              AND claimed_at IS NULL
              AND scheduled_for IS NOT NULL
              AND remind_at > CURRENT_TIMESTAMP
            ORDER BY remind_at
            LIMIT CAST(:most AS bigint)
        )
        UNION ALL
        SELECT snooze_due_at(snooze), lower(user_email)
        FROM email_snoozes AS snooze
        WHERE claimed_at IS NOT NULL
    ) AS unsent
    WHERE CAST(:only AS text) IS DISTINCT FROM 'sent'
    LIMIT CAST(:most AS bigint)
),
sent AS MATERIALIZED (
    SELECT
        CAST(extract(epoch FROM send.sent_at - COALESCE(send.late_from, send.scheduled_for)) AS double precision) AS seconds,
        lower(send.user_email) AS person
    FROM reminder_sends AS send
    WHERE send.state = 'sent'
      AND send.channel = 'email'
      AND send.sent_at > CURRENT_TIMESTAMP - INTERVAL '1 hour'
      AND CAST(:only AS text) IS DISTINCT FROM 'waits'
    ORDER BY send.sent_at DESC
    LIMIT CAST(:most AS bigint)
),
late AS MATERIALIZED (
    SELECT 'waits' AS what, CAST(extract(epoch FROM CURRENT_TIMESTAMP - promise) AS double precision) AS seconds, person
    FROM waiting
    WHERE promise <= CURRENT_TIMESTAMP
    UNION ALL
    SELECT 'sent', seconds, person
    FROM sent
)
SELECT
    kind.what,
    count(late.seconds) AS reminders,
    count(*) FILTER (WHERE late.seconds <= 10) AS within_10_s,
    count(*) FILTER (WHERE late.seconds > 10 AND late.seconds <= 60) AS within_60_s,
    count(*) FILTER (WHERE late.seconds > 60 AND late.seconds <= 1800) AS within_30_min,
    count(*) FILTER (WHERE late.seconds > 1800) AS more,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY late.seconds) AS p50,
    percentile_disc(0.99) WITHIN GROUP (ORDER BY late.seconds) AS p99,
    count(DISTINCT late.person) AS people,
    max(late.seconds) AS max
FROM (VALUES ('sent'), ('waits')) AS kind (what)
LEFT JOIN late ON late.what = kind.what
GROUP BY kind.what
ORDER BY kind.what
