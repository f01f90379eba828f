-- Claim up to batch_size due snoozes of one priority for one worker, in order of (remind_at, id) after a given
-- position.
-- No claim waits for a lock or shares a row; of rows with the same serialization key at most one is claimed at a time.
-- The position's time is compared twice so that the planner sees a range and keeps one generic plan.
WITH due AS MATERIALIZED (
    SELECT id
    FROM email_snoozes AS waiting
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts < max_attempts
      AND schema_version <= :known_schema
      AND priority = :priority
      AND (crash_count > 0) = :poison_rows
      AND remind_at >= COALESCE(CAST(:after_time AS timestamptz), '-infinity')
      AND (remind_at, id) > (COALESCE(CAST(:after_time AS timestamptz), '-infinity'), CAST(:after_id AS bigint))
      AND (
          :poison_rows
          OR CAST(:buckets AS smallint[]) IS NULL
          OR bucket = ANY(CAST(:buckets AS smallint[]))
          OR remind_at <= CURRENT_TIMESTAMP - :steal_after
      )
      AND user_email <> ALL(CAST(:heavy_users AS text[]))
      AND (
          serialization_key IS NULL
          OR NOT EXISTS (
              SELECT 1
              FROM email_snoozes AS busy
              WHERE busy.serialization_key = waiting.serialization_key
                AND busy.claimed_at IS NOT NULL
          )
      )
      AND (
          serialization_key IS NULL
          OR NOT EXISTS (
              SELECT 1
              FROM email_snoozes AS ahead
              WHERE ahead.serialization_key = waiting.serialization_key
                AND NOT ahead.inactive
                AND ahead.claimed_at IS NULL
                AND ahead.attempts < ahead.max_attempts
                AND ahead.schema_version <= :known_schema
                AND (ahead.remind_at, ahead.id) < (waiting.remind_at, waiting.id)
          )
      )
    ORDER BY remind_at, id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = CURRENT_TIMESTAMP,
    claimed_by = :worker,
    claim_token = gen_random_uuid(),
    lease_expires_at = CURRENT_TIMESTAMP + :lease,
    scheduled_for = COALESCE(snooze.scheduled_for, snooze.remind_at),
    updated_at = CURRENT_TIMESTAMP
FROM due
WHERE snooze.id = due.id
RETURNING
    snooze.id,
    snooze.claim_token,
    snooze.user_email,
    snooze.message_id,
    snooze.remind_at,
    snooze.scheduled_for,
    snooze.attempts,
    snooze.recurrence,
    snooze.zone,
    snooze.traceparent
