-- Why no mail may be sent now for a promise: operators have paused it, a rest of its owner defers it, a digest may
-- yet contain it or contains it, it was sent and is in the archive, it is still to be gathered for its person's review,
-- or the return of its message keeps it, or may yet.
-- NULL if nothing is in the way. Postgres inlines it into the statement that calls it.
CREATE OR REPLACE FUNCTION snooze_obstacle(snooze email_snoozes) RETURNS TABLE(obstacle text)
    LANGUAGE sql
    STABLE
    AS $$
    SELECT CASE
        WHEN (SELECT TRUE FROM pauses WHERE ended_at IS NULL LIMIT 1) IS TRUE
            AND snooze_pause(snooze.user_email, snooze.priority, 'mail') IS NOT NULL
            THEN 'pause'
        WHEN (
            SELECT TRUE
            FROM accounts AS account
            JOIN day_shapes AS day ON day.account_id = account.id
            WHERE account.email = lower(snooze.user_email)
            LIMIT 1
        ) IS TRUE AND (
            (SELECT until FROM snooze_deferral(snooze.user_email, snooze.id, snooze_promise(snooze))) IS NOT NULL
            OR snooze_may_be_gathered(snooze.user_email, snooze.id)
        )
            THEN 'rest'
        WHEN (
            SELECT TRUE
            FROM digest_members AS member
            JOIN digests AS digest ON digest.id = member.digest_id
            JOIN email_snoozes AS first ON first.id = digest.snooze_id
            WHERE member.snooze_id = snooze.id
              AND member.scheduled_for = snooze_promise(snooze)
            LIMIT 1
        )
            THEN 'digest'
        WHEN snooze_archived_send(snooze.user_email, snooze.message_id, snooze_promise(snooze)) IS NOT NULL
            THEN 'sent'
        WHEN snooze.recurrence ->> 'kind' = 'someday' AND snooze_awaits_review(snooze)
            THEN 'review'
        WHEN (
            SELECT TRUE
            FROM messages AS its
            WHERE its.user_email = snooze.user_email
              AND its.message_id = snooze.message_id
              AND its.mailbox_id IS NOT NULL
            LIMIT 1
        ) IS TRUE
            AND snooze_return_alone(snooze.user_email, snooze.message_id, snooze_promise(snooze)) IS NOT NULL
            AND (
                SELECT TRUE
                FROM reminder_sends AS entry
                WHERE entry.user_email = snooze.user_email
                  AND entry.message_id = snooze.message_id
                  AND entry.scheduled_for = snooze_promise(snooze)
                  AND entry.channel = 'email'
                LIMIT 1
            ) IS NULL
            THEN 'return'
    END
$$;
