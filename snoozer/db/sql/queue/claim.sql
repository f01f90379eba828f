-- Claim up to batch_size due snoozes of one lane for one worker, in order of (remind_at, id) between two positions.
-- A lane is a priority, a number of lost workers (0, 1, or 2 for more), and whether rows have a serialization key.
-- No claim waits for a lock or shares a row. Of one key only the first row is claimed, and none while one is in flight.
-- A row with four ahead of it in its key, as after an insert in reverse order, is returned without a token: it waits
-- behind them until queue/advance_keys.sql. So a claim passes over three rows of a key, however many there are.
-- Its commit does not wait for the disk (nor for a standby): the mark's does, before a dot leaves, and a claim that was
-- lost with the server authorises none.
-- Nothing is claimed on another timeline of the database than was accepted, unless any will do (timeline/change.sql).
-- The first position's time is compared twice so that the planner sees a range and keeps one generic plan. The first rows
-- of a key are read in their order and then compared: a scan up to a row would pass over all rows of the same time.
WITH due AS MATERIALIZED (
    SELECT waiting.id, ahead.count = 0 AS is_first
    FROM email_snoozes AS waiting
    CROSS JOIN LATERAL (
        SELECT count(*) AS count
        FROM (
            SELECT other.remind_at, other.id
            FROM email_snoozes AS other
            WHERE :keyed
              AND other.serialization_key = waiting.serialization_key
              AND NOT other.inactive
              AND other.claimed_at IS NULL
              AND other.attempts < other.max_attempts
              AND other.schema_version <= :known_schema
            ORDER BY other.remind_at, other.id
            LIMIT 4
        ) AS first
        WHERE (first.remind_at, first.id) < (waiting.remind_at, waiting.id)
    ) AS ahead
    WHERE (CAST(:any_timeline AS boolean) OR snooze_timeline_is_accepted())
      AND NOT inactive
      AND claimed_at IS NULL
      AND NOT behind_key
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts < max_attempts
      AND schema_version <= :known_schema
      AND priority = :priority
      AND LEAST(crash_count, 2) = :crashes
      AND num_nonnulls(serialization_key) = CAST(:keyed AS integer)
      AND remind_at >= COALESCE(CAST(:after_time AS timestamptz), '-infinity')
      AND (remind_at, id) > (COALESCE(CAST(:after_time AS timestamptz), '-infinity'), CAST(:after_id AS bigint))
      AND (remind_at, id) <= (COALESCE(CAST(:until_time AS timestamptz), 'infinity'), CAST(:until_id AS bigint))
      AND (
          CAST(:buckets AS smallint[]) IS NULL
          OR bucket = ANY(CAST(:buckets AS smallint[]))
          OR remind_at <= CURRENT_TIMESTAMP - :steal_after
      )
      AND user_email <> ALL(CAST(:heavy_users AS text[]))
      AND ahead.count IN (0, 4)
      AND NOT (
          :keyed
          AND ahead.count = 0
          AND EXISTS (
              SELECT 1
              FROM email_snoozes AS busy
              WHERE busy.serialization_key = waiting.serialization_key
                AND busy.claimed_at IS NOT NULL
          )
      )
    ORDER BY remind_at, id
    LIMIT :batch_size
    FOR NO KEY UPDATE OF waiting SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = CASE WHEN due.is_first THEN CURRENT_TIMESTAMP END,
    claimed_by = CASE WHEN due.is_first THEN :worker END,
    claim_token = CASE WHEN due.is_first THEN gen_random_uuid() END,
    lease_expires_at = CASE WHEN due.is_first THEN CURRENT_TIMESTAMP + :lease END,
    scheduled_for = CASE WHEN due.is_first THEN snooze_promise(snooze) ELSE snooze.scheduled_for END,
    behind_key = NOT due.is_first,
    updated_at = CURRENT_TIMESTAMP
FROM due
WHERE snooze.id = due.id
  AND set_config('synchronous_commit', 'off', TRUE) = 'off'
RETURNING
    snooze.id,
    snooze.claim_token,
    snooze.user_email,
    snooze.message_id,
    snooze.remind_at,
    snooze.scheduled_for,
    GREATEST(snooze.scheduled_for, snooze.deferred_until) AS late_from,
    snooze.attempts,
    snooze.crash_count,
    snooze.serialization_key,
    snooze.recurrence,
    snooze.zone,
    snooze.traceparent,
    snooze.claimed_at
