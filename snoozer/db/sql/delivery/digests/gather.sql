-- Gather the promises that came due at the ends of these people's rests and were not gathered yet, if there are more
-- than each person wants as single mails: into digests of up to `size` promises, each the reminder of its first one;
-- promises beyond `most` are sent singly. None of them has been authorised, because that waits for this statement
-- (functions/snooze_obstacle.sql), and rows being authorised are locked. All of them are entered in the ledger, with the
-- content of the mail; a promise that has an entry already is in no digest, and a mail that was composed before is not
-- authorised (ledger/authorise.sql). If another transaction has locked a row, all promises of its owner wait for it, up
-- to a minute. Days that another transaction gathers are skipped, and so are days that rest,
-- or whose rests are not known.
WITH day AS MATERIALIZED (
    SELECT day.account_id, day.gathers_over, day.gathered_until, account.email, account.zone, account.locale
    FROM day_shapes AS day
    JOIN accounts AS account ON account.id = day.account_id
    WHERE account.email = ANY(CAST(:people AS text[]))
      AND day.gathers_over IS NOT NULL
      AND clock_timestamp() < day.known_until
      AND (clock_timestamp() >= day.rest_from AND clock_timestamp() < day.rest_until) IS NOT TRUE
    FOR NO KEY UPDATE OF day SKIP LOCKED
),
ended AS MATERIALIZED (
    SELECT day.account_id, snooze.id, snooze.deferred_until
    FROM day
    JOIN email_snoozes AS snooze ON snooze.user_email = day.email
    WHERE NOT snooze.inactive
      AND NOT snooze.at_any_hour
      AND snooze.recurrence ->> 'kind' IS DISTINCT FROM 'someday'
      AND snooze.deferred_until > day.gathered_until
      AND snooze.deferred_until <= clock_timestamp()
),
waiting AS MATERIALIZED (
    SELECT snooze.*
    FROM email_snoozes AS snooze
    WHERE snooze.id = ANY(ARRAY(SELECT ended.id FROM ended))
      AND NOT snooze.inactive
      AND NOT snooze.at_any_hour
      AND snooze.deferred_until <= clock_timestamp()
      AND snooze.scheduled_for IS NOT NULL
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
),
ready AS MATERIALIZED (
    SELECT day.*
    FROM day
    LEFT JOIN (
        SELECT account_id, count(*) AS total, max(deferred_until) AS last
        FROM ended
        GROUP BY account_id
    ) AS due USING (account_id)
    LEFT JOIN (
        SELECT user_email, count(*) AS total
        FROM waiting
        GROUP BY user_email
    ) AS locked ON locked.user_email = day.email
    WHERE COALESCE(due.total, 0) = COALESCE(locked.total, 0)
       OR due.last < clock_timestamp() - INTERVAL '1 minute'
),
numbered AS MATERIALIZED (
    SELECT
        waiting.*,
        ready.account_id,
        ready.gathers_over,
        ready.locale,
        COALESCE(waiting.zone, ready.zone, 'UTC') AS spoken_zone,
        row_number() OVER mine - 1 AS number,
        count(*) OVER (PARTITION BY ready.account_id) AS total
    FROM ready
    JOIN waiting ON waiting.user_email = ready.email
    WHERE waiting.attempts = 0
      AND waiting.crash_count = 0
      AND waiting.serialization_key IS NULL
      AND waiting.schema_version <= :known_schema
      -- Asked row by row, by the whole key: as a join, old statistics make it read all of the ledger for each row.
      AND (
          SELECT entry.id
          FROM reminder_sends AS entry
          WHERE entry.user_email = waiting.user_email
            AND entry.message_id = waiting.message_id
            AND entry.scheduled_for = waiting.scheduled_for
            AND entry.channel = 'email'
          LIMIT 1
      ) IS NULL
      AND snooze_archived_send(waiting.user_email, waiting.message_id, waiting.scheduled_for) IS NULL
      AND snooze_return_alone(waiting.user_email, waiting.message_id, waiting.scheduled_for) IS NULL
    WINDOW mine AS (PARTITION BY ready.account_id ORDER BY waiting.scheduled_for, waiting.id)
),
many AS MATERIALIZED (
    SELECT
        numbered.*,
        number % :size AS position,
        first_value(id) OVER (PARTITION BY account_id, number / :size ORDER BY number) AS first_id
    FROM numbered
    WHERE total > gathers_over
      AND number < :most
),
entered AS (
    INSERT INTO reminder_sends (
        snooze_id, user_email, message_id, scheduled_for, channel, bucket, reminder_message_id,
        state, claim_token, subject, sender_email, note, zone, reserved_at, delayed_by, locale, late_from
    )
    SELECT
        id, user_email, message_id, scheduled_for, 'email', bucket,
        snooze_reminder_name(id, user_email, message_id, scheduled_for, CAST(:domain AS text)),
        'failed', gen_random_uuid(), subject, sender_email, note, spoken_zone, CURRENT_TIMESTAMP, deferred_by, locale,
        GREATEST(scheduled_for, deferred_until)
    FROM many
    ON CONFLICT (user_email, message_id, scheduled_for, channel) DO NOTHING
    RETURNING snooze_id
),
digest AS (
    INSERT INTO digests (account_id, snooze_id, scheduled_for)
    SELECT account_id, id, scheduled_for
    FROM many
    WHERE position = 0
      AND (id IN (SELECT entered.snooze_id FROM entered)) IS TRUE
    RETURNING id, snooze_id
),
member AS (
    INSERT INTO digest_members (digest_id, position, snooze_id, scheduled_for)
    SELECT digest.id, many.position, many.id, many.scheduled_for
    FROM many
    JOIN digest ON digest.snooze_id = many.first_id
    -- As a separate condition the planner uses a hash; as a join it would compare all pairs.
    WHERE (many.id IN (SELECT entered.snooze_id FROM entered)) IS TRUE
      AND many.position > 0
)
UPDATE day_shapes
SET gathered_until = GREATEST(day_shapes.gathered_until, clock_timestamp())
FROM ready
WHERE day_shapes.account_id = ready.account_id
