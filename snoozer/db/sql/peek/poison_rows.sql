-- Lanes with due rows that lost more than one worker, of the hundred that are due the longest: priority, and whether
-- with a key. No row while operators have paused everything.
SELECT DISTINCT priority, serialization_key IS NOT NULL AS keyed
FROM (
    SELECT priority, serialization_key
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND NOT behind_key
      AND crash_count > 1
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts < max_attempts
      AND schema_version <= :known_schema
      AND NOT EXISTS (
          SELECT 1
          FROM pauses
          WHERE ended_at IS NULL
            AND (kind = 'all' OR (kind = 'channel' AND value = 'mail'))
            AND (until IS NULL OR until > CURRENT_TIMESTAMP)
      )
    ORDER BY remind_at
    LIMIT 100
) AS poison
ORDER BY priority DESC, keyed
