-- Whether any snooze is due or claimed.
SELECT EXISTS (
    SELECT 1
    FROM email_snoozes
    WHERE NOT inactive
      AND (
          claimed_at IS NOT NULL
          OR (remind_at <= CURRENT_TIMESTAMP AND attempts < max_attempts AND schema_version <= :known_schema)
      )
) AS unfinished
