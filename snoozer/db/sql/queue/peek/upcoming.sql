-- Up to :rows snoozes of these buckets that are due within the horizon, to be prepared ahead, with the version of each row,
-- a token for its claim, and the seconds until it is due by the database's clock. Only the plain case is read ahead: no
-- serialization key, no earlier try, no lost worker, no rest, and no owner whose day has a shape. Rows that the worker
-- has read are left out. If there are more, the higher priority comes first, and everybody's first :share rows come
-- before the others. No row while the breaker of the mail server is not closed.
WITH read AS MATERIALIZED (
    SELECT *
    FROM unnest(CAST(:ids AS bigint[]), CAST(:times AS timestamptz[])) AS read (id, remind_at)
),
near AS MATERIALIZED (
    SELECT snooze, snooze.xmin AS version
    FROM email_snoozes AS snooze
    WHERE NOT snooze.inactive
      AND snooze.claimed_at IS NULL
      AND snooze.remind_at > CURRENT_TIMESTAMP
      AND snooze.remind_at <= CURRENT_TIMESTAMP + :horizon
      AND (CAST(:buckets AS smallint[]) IS NULL OR snooze.bucket = ANY(CAST(:buckets AS smallint[])))
      AND NOT EXISTS (
          SELECT 1
          FROM circuit_breakers
          WHERE server = CAST(:server AS text)
            AND state <> 'closed'
      )
    ORDER BY snooze.remind_at
    LIMIT 1000
),
plain AS MATERIALIZED (
    SELECT
        (near.snooze).*,
        near.version,
        row_number() OVER (PARTITION BY (near.snooze).user_email ORDER BY (near.snooze).remind_at) AS place
    FROM near
    WHERE (near.snooze).serialization_key IS NULL
      AND (near.snooze).crash_count = 0
      AND (near.snooze).attempts = 0
      AND (near.snooze).max_attempts > 0
      AND (near.snooze).last_error_at IS NULL
      AND (near.snooze).deferred_until IS NULL
      AND snooze_promise(near.snooze) = (near.snooze).remind_at
      AND (near.snooze).schema_version <= :known_schema
      AND ((near.snooze).id, (near.snooze).remind_at) NOT IN (SELECT read.id, read.remind_at FROM read)
      AND NOT EXISTS (
          SELECT 1
          FROM accounts AS account
          JOIN day_shapes AS day ON day.account_id = account.id
          WHERE account.email = lower((near.snooze).user_email)
      )
)
SELECT
    id,
    gen_random_uuid() AS claim_token,
    user_email,
    message_id,
    remind_at,
    remind_at AS scheduled_for,
    remind_at AS late_from,
    attempts,
    crash_count,
    serialization_key,
    recurrence,
    zone,
    traceparent,
    remind_at AS claimed_at,
    CAST(version AS text) AS version,
    CAST(extract(epoch FROM remind_at - clock_timestamp()) AS double precision) AS early
FROM plain
ORDER BY priority DESC, place > :share, remind_at, id
LIMIT :rows
