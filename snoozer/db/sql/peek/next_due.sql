-- Seconds until a worker has something to claim: until the next snooze of its buckets is due, or one of any bucket is
-- due for steal_after. With not_due_yet, until the next one for which that is still to come, where the index is entered
-- behind all others, however many.
SELECT extract(epoch FROM LEAST(
    (
        SELECT remind_at
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND attempts < max_attempts
          AND schema_version <= :known_schema
          AND remind_at > CASE WHEN :not_due_yet THEN CURRENT_TIMESTAMP ELSE '-infinity' END
          AND (CAST(:buckets AS smallint[]) IS NULL OR bucket = ANY(CAST(:buckets AS smallint[])))
        ORDER BY remind_at
        LIMIT 1
    ),
    (
        SELECT remind_at + :steal_after
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND attempts < max_attempts
          AND schema_version <= :known_schema
          AND remind_at > CASE WHEN :not_due_yet THEN CURRENT_TIMESTAMP - :steal_after ELSE '-infinity' END
        ORDER BY remind_at
        LIMIT 1
    )
) - clock_timestamp()) AS seconds
