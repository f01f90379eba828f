-- Seconds until a worker has something to claim: until the next snooze of its buckets is due, or one of any bucket is
-- due for steal_after. With `missed`, what became due before that long ago is left out, where the index is entered
-- behind all such rows, however many. Of others' rows a thousand are looked at, and then one of them is waited for.
WITH since AS MATERIALIZED (
    SELECT COALESCE(CURRENT_TIMESTAMP - CAST(:missed AS interval), '-infinity') AS own
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
