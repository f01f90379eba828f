-- Seconds until a worker has something to claim: until the next snooze of its buckets is due, or one of any bucket has
-- been due for steal_after. With `missed`, rows due longer ago than that are left out, so that the index is entered
-- behind them, however many they are. Rows that the worker has read ahead are left out, at the times it read. At most a
-- thousand rows of others are examined; then the wait is until the last of them.
WITH since AS MATERIALIZED (
    SELECT COALESCE(CURRENT_TIMESTAMP - CAST(:missed AS interval), '-infinity') AS own
),
read AS MATERIALIZED (
    SELECT *
    FROM unnest(CAST(:ids AS bigint[]), CAST(:times AS timestamptz[])) AS read (id, remind_at)
)
SELECT extract(epoch FROM LEAST(
    COALESCE(
        (
            SELECT first.remind_at
            FROM (
                SELECT remind_at, bucket
                FROM email_snoozes
                WHERE NOT inactive
                  AND claimed_at IS NULL
                  AND attempts < max_attempts
                  AND schema_version <= :known_schema
                  AND remind_at > (SELECT since.own FROM since)
                  AND (id, remind_at) NOT IN (SELECT read.id, read.remind_at FROM read)
                ORDER BY remind_at
                LIMIT 1000
            ) AS first
            WHERE CAST(:buckets AS smallint[]) IS NULL
               OR first.bucket = ANY(CAST(:buckets AS smallint[]))
            ORDER BY first.remind_at
            LIMIT 1
        ),
        (
            SELECT remind_at
            FROM email_snoozes
            WHERE NOT inactive
              AND claimed_at IS NULL
              AND attempts < max_attempts
              AND schema_version <= :known_schema
              AND remind_at > (SELECT since.own FROM since)
              AND (id, remind_at) NOT IN (SELECT read.id, read.remind_at FROM read)
            ORDER BY remind_at
            OFFSET 999
            LIMIT 1
        )
    ),
    (
        SELECT remind_at + :steal_after
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND attempts < max_attempts
          AND schema_version <= :known_schema
          AND remind_at > (SELECT since.own - :steal_after FROM since)
        ORDER BY remind_at
        LIMIT 1
    )
) - clock_timestamp()) AS seconds
