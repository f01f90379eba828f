-- Gather the due snoozes without a date of these people into digests of up to `size` promises, each the reminder of its
-- first one; promises beyond `most` are sent singly. None of them has been authorised, because that waits for this
-- statement (functions/snooze_awaits_review.sql). All of them are entered in the ledger, with the content of the mail. A
-- person's promises wait until all of them were claimed once, and no other transaction has locked one, up to a minute.
WITH due AS MATERIALIZED (
    SELECT snooze.id, snooze.user_email, snooze_due_at(snooze) AS at
    FROM email_snoozes AS snooze
    WHERE snooze.user_email = ANY(CAST(:people AS text[]))
      AND NOT snooze.inactive
      AND snooze.recurrence ->> 'kind' = 'someday'
      AND snooze_due_at(snooze) <= clock_timestamp()
      AND snooze_awaits_review(snooze)
),
waiting AS MATERIALIZED (
    SELECT snooze.*
    FROM email_snoozes AS snooze
    WHERE snooze.id = ANY(ARRAY(SELECT due.id FROM due))
      AND NOT snooze.inactive
      AND snooze.recurrence ->> 'kind' = 'someday'
      AND snooze.scheduled_for <= clock_timestamp()
      AND snooze.schema_version <= :known_schema
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
),
ready AS MATERIALIZED (
    SELECT user_email
    FROM due
    LEFT JOIN waiting USING (id, user_email)
    GROUP BY user_email
    HAVING count(*) = count(waiting.scheduled_for) OR max(due.at) < clock_timestamp() - INTERVAL '1 minute'
),
numbered AS MATERIALIZED (
    SELECT
        waiting.*,
        account.id AS account_id,
        account.locale,
        COALESCE(waiting.zone, account.zone, 'UTC') AS spoken_zone,
        row_number() OVER (PARTITION BY waiting.user_email ORDER BY waiting.created_at, waiting.id) - 1 AS number
    FROM ready
    JOIN waiting USING (user_email)
    LEFT JOIN accounts AS account ON account.email = lower(waiting.user_email)
),
placed AS MATERIALIZED (
    SELECT
        numbered.*,
        number % :size AS position,
        first_value(id) OVER (PARTITION BY user_email, number / :size ORDER BY number) AS first_id
    FROM numbered
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
    FROM placed
    ON CONFLICT (user_email, message_id, scheduled_for, channel) DO NOTHING
    RETURNING snooze_id
),
digest AS (
    INSERT INTO digests (account_id, snooze_id, scheduled_for)
    SELECT account_id, id, scheduled_for
    FROM placed
    WHERE position = 0
      AND number < :most
      AND account_id IS NOT NULL
      AND (id IN (SELECT entered.snooze_id FROM entered)) IS TRUE
    RETURNING id, snooze_id
)
INSERT INTO digest_members (digest_id, position, snooze_id, scheduled_for)
SELECT digest.id, placed.position, placed.id, placed.scheduled_for
FROM placed
JOIN digest ON digest.snooze_id = placed.first_id
WHERE (placed.id IN (SELECT entered.snooze_id FROM entered)) IS TRUE
  AND placed.position > 0
