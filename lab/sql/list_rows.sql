-- The stage of each message, by committed state: the first few of each stage, and how many there are. A row whose
-- promise has passed is due, also while it waits to be tried again. A row that was just sent stays in `sent` for three
-- seconds, so that it can be seen there.
WITH placed AS (
    SELECT
        snooze.id,
        snooze.message_id,
        snooze.subject,
        snooze.claimed_by,
        snooze.attempts,
        snooze.crash_count,
        snooze.last_error,
        send.state,
        send.resends,
        COALESCE(kept.returned, FALSE) AS is_back,
        EXTRACT(EPOCH FROM snooze.remind_at - clock_timestamp()) AS due_in,
        COALESCE(send.sent_at, snooze.finished_at, snooze.claimed_at, snooze.remind_at) AS moved_at,
        CASE
            WHEN its.state IN ('case', 'asleep') THEN its.state
            WHEN its.state = 'sent'
                AND (snooze.finished_at > clock_timestamp() - INTERVAL '3 seconds' OR kept.returned IS FALSE) THEN 'sent'
            WHEN its.state IN ('sent', 'cancelled') THEN 'back'
            WHEN its.state = 'leaving' THEN 'dot'
            WHEN its.state = 'held' THEN 'claimed'
            ELSE 'due'
        END AS stage
    FROM email_snoozes AS snooze
    CROSS JOIN LATERAL snooze_state(snooze, :known_schema) AS its
    LEFT JOIN reminder_sends AS send
        ON send.user_email = snooze.user_email
        AND send.message_id = snooze.message_id
        AND send.scheduled_for = snooze.scheduled_for
        AND send.channel = 'email'
    LEFT JOIN messages AS kept
        ON kept.user_email = snooze.user_email
        AND kept.message_id = snooze.message_id
        AND kept.is_kept
),
ranked AS (
    SELECT
        placed.*,
        count(*) OVER (PARTITION BY stage) AS in_stage,
        row_number() OVER (
            PARTITION BY stage
            ORDER BY CASE WHEN stage IN ('sent', 'back', 'case') THEN -EXTRACT(EPOCH FROM moved_at)
                ELSE EXTRACT(EPOCH FROM moved_at) END, id
        ) AS place
    FROM placed
)
SELECT
    id, message_id, subject, claimed_by, attempts, crash_count, last_error, state, resends, is_back, due_in, stage,
    in_stage
FROM ranked
WHERE place <= :most
ORDER BY stage, place
