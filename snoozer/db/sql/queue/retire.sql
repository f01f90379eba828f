-- Retire due rows whose attempts are exhausted without a release, as by an edit from outside: no claim would take
-- them.
WITH exhausted AS MATERIALIZED (
    SELECT id
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts >= max_attempts
      AND COALESCE(id BETWEEN :first_id AND :last_id, FALSE)
    ORDER BY remind_at
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET last_error = COALESCE(snooze.last_error, :error),
    last_error_at = COALESCE(snooze.last_error_at, CURRENT_TIMESTAMP),
    inactive = TRUE,
    outcome = 'retired',
    finished_at = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
FROM exhausted
WHERE snooze.id = exhausted.id
RETURNING snooze.id
