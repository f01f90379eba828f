-- name: is_due
-- Whether a chore was last completed longer ago than its interval, or never; a record from the future, after a clock
-- was set back, is ignored.
SELECT NOT EXISTS (
    SELECT 1
    FROM housekeeping_runs
    WHERE chore = :chore
      AND finished_at BETWEEN clock_timestamp() - :every AND clock_timestamp()
) AS is_due

-- name: forget_refusals
-- Forget refusals of these chores, or of all if :chores is NULL.
DELETE FROM housekeeping_runs
WHERE starts_with(chore, 'refused: ')
  AND (CAST(:chores AS text[]) IS NULL OR substr(chore, length('refused: ') + 1) = ANY(CAST(:chores AS text[])))

-- name: record_refusal
-- Record since when the database refuses a statement of this chore.
INSERT INTO housekeeping_runs (chore, finished_at)
VALUES ('refused: ' || :chore, clock_timestamp())
ON CONFLICT (chore) DO NOTHING

-- name: record_run
-- Record when this chore last finished, for the gauge of housekeeping's age.
INSERT INTO housekeeping_runs AS run (chore, finished_at)
VALUES (:chore, clock_timestamp())
ON CONFLICT (chore) DO UPDATE
SET finished_at = EXCLUDED.finished_at

-- name: record_server_start
-- Record when the database server was first seen since its present start; forget earlier starts.
WITH recorded AS (
    INSERT INTO server_starts (started_at, met_at)
    VALUES (pg_postmaster_start_time(), clock_timestamp())
    ON CONFLICT (started_at) DO NOTHING
)
DELETE FROM server_starts
WHERE started_at <> pg_postmaster_start_time()

-- name: side_work
-- The work of a worker besides reminders: the seconds until the next kept message returns to the inbox, and the kinds of
-- work that are due: rests to be computed, notifications to be claimed or swept, and answers to mails.
SELECT
    (
        SELECT extract(epoch FROM min(GREATEST(returns_at, deferred_until)) - clock_timestamp())
        FROM messages
        WHERE is_kept
          AND returns_at IS NOT NULL
    ) AS returns_in,
    ARRAY(
        SELECT 'rest'
        WHERE EXISTS (
            SELECT 1
            FROM day_shapes
            WHERE refresh_at <= clock_timestamp()
        )
        UNION ALL
        SELECT 'push'
        WHERE EXISTS (
            SELECT 1
            FROM push_sends
            WHERE state IN ('reserved', 'sending')
              AND (claimed_until <= clock_timestamp() OR (claimed_until IS NULL AND try_at <= clock_timestamp()))
        )
        UNION ALL
        SELECT 'webhook'
        WHERE EXISTS (
            SELECT 1
            FROM webhook_deliveries
            WHERE state = 'waiting'
              AND claim_token IS NULL
              AND try_at <= clock_timestamp()
        )
           OR EXISTS (
            SELECT 1
            FROM webhook_deliveries
            WHERE claim_token IS NOT NULL
              AND claimed_until <= clock_timestamp()
        )
        UNION ALL
        SELECT 'notice'
        WHERE EXISTS (
            SELECT 1
            FROM webhook_endpoints
            WHERE notice_at <= clock_timestamp()
        )
        UNION ALL
        SELECT 'answer'
        WHERE EXISTS (
            SELECT 1
            FROM mail_acts
            WHERE due_at <= clock_timestamp()
              AND received_at > clock_timestamp() - INTERVAL '1 day'
        )
    ) AS due

-- name: try_lock
-- Let one clock at a time run a chore; the lock ends with the transaction, also behind a pooler.
SELECT pg_try_advisory_xact_lock(hashtextextended(:chore, 7266837)) AS acquired
