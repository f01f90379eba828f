-- Whether a row is due that lost a worker before.
SELECT EXISTS (
    SELECT 1
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND crash_count > 0
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts < max_attempts
      AND schema_version <= :known_schema
) AS waits
