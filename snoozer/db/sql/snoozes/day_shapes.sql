-- name: defer_messages
-- Defer the return of kept messages, or of those in connected mailboxes, that are due within a rest of their owners, to
-- its end.
WITH due AS MATERIALIZED (
    SELECT message.id, deferral.until
    FROM messages AS message
    CROSS JOIN LATERAL snooze_deferral(message.user_email, message.snooze_id, message.returns_at) AS deferral
    WHERE message.is_kept = :kept
      AND GREATEST(message.returns_at, message.deferred_until) <= CURRENT_TIMESTAMP
      AND message.returns_at IS NOT NULL
      AND message.snooze_id IS NOT NULL
      AND message.user_email IN (
          SELECT account.email
          FROM day_shapes AS day
          JOIN accounts AS account ON account.id = day.account_id
          WHERE clock_timestamp() >= day.rest_from
            AND clock_timestamp() < day.rest_until
      )
      AND deferral.reason IS NOT NULL
    ORDER BY message.id
    LIMIT :batch_size
    FOR NO KEY UPDATE OF message SKIP LOCKED
)
UPDATE messages AS message
SET deferred_until = due.until
FROM due
WHERE message.id = due.id
RETURNING message.id

-- name: lock_stale
-- Lock the days whose rests must be computed again, the oldest first: all days, only the day of `account_id`, or only
-- the days of the owners of `snooze_ids`. A day locked by another transaction is skipped: it is being changed or computed there.
-- The zone is locked, too, so that both are as they are when the lock was granted.
WITH stale AS MATERIALIZED (
    SELECT
        day.account_id, day.working_days, day.work_from, day.work_until, day.quiet_from, day.quiet_until,
        day.quiet_until_off, day.rests_on_days_off, day.away_from, day.back_on, day.gathers_over, day.review_on,
        account.email AS user_email,
        account.zone,
        day.changed
    FROM day_shapes AS day
    JOIN accounts AS account ON account.id = day.account_id
    WHERE day.refresh_at <= clock_timestamp()
      AND (CAST(:account_id AS bigint) IS NULL OR day.account_id = CAST(:account_id AS bigint))
      AND (
          CAST(:snooze_ids AS bigint[]) IS NULL
          OR account.email IN (
              SELECT lower(owned.user_email)
              FROM email_snoozes AS owned
              WHERE owned.id = ANY(CAST(:snooze_ids AS bigint[]))
          )
      )
    ORDER BY day.refresh_at
    LIMIT :batch_size
    FOR NO KEY UPDATE OF day SKIP LOCKED
    FOR SHARE OF account SKIP LOCKED
)
SELECT stale.*, clock_timestamp() AS now
FROM stale

-- name: record_rest
-- Record the rest that lasts or comes next for this person: right until `known_until`, computed again from
-- `refresh_at`.
UPDATE day_shapes
SET rest_from = :rest_from,
    rest_until = :rest_until,
    rest_reason = :rest_reason,
    known_until = :known_until,
    refresh_at = :refresh_at,
    changed = :changed
WHERE account_id = :account_id

-- name: save
-- Save the shape of a person's day. Its rests are not known until they are computed (day_shapes/lock_stale.sql). If
-- gathering is switched on, reminders of a rest that ends within a minute are not gathered: a worker may be reserving
-- them by the earlier choice.
INSERT INTO day_shapes (
    account_id, working_days, work_from, work_until, quiet_from, quiet_until, quiet_until_off,
    rests_on_days_off, away_from, back_on, gathers_over, review_on, gathered_until, known_until, refresh_at
)
VALUES (
    :account_id, CAST(:working_days AS smallint[]), :work_from, :work_until, :quiet_from, :quiet_until, :quiet_until_off,
    :rests_on_days_off, :away_from, :back_on, :gathers_over, :review_on,
    clock_timestamp() + INTERVAL '1 minute', to_timestamp(0), to_timestamp(0)
)
ON CONFLICT (account_id) DO UPDATE
SET working_days = EXCLUDED.working_days,
    work_from = EXCLUDED.work_from,
    work_until = EXCLUDED.work_until,
    quiet_from = EXCLUDED.quiet_from,
    quiet_until = EXCLUDED.quiet_until,
    quiet_until_off = EXCLUDED.quiet_until_off,
    rests_on_days_off = EXCLUDED.rests_on_days_off,
    away_from = EXCLUDED.away_from,
    back_on = EXCLUDED.back_on,
    gathered_until = CASE
        WHEN day_shapes.gathers_over IS NULL THEN EXCLUDED.gathered_until
        ELSE day_shapes.gathered_until
    END,
    gathers_over = EXCLUDED.gathers_over,
    review_on = EXCLUDED.review_on,
    known_until = EXCLUDED.known_until,
    refresh_at = EXCLUDED.refresh_at,
    changed = TRUE,
    updated_at = CURRENT_TIMESTAMP

-- name: undefer_messages
-- The owner's day changed: messages that a rest deferred return at their promised times, unless they still wait for the
-- end of the present rest.
UPDATE messages
SET deferred_until = NULL
WHERE user_email = :user_email
  AND returns_at IS NOT NULL
  AND deferred_until > CURRENT_TIMESTAMP
  AND deferred_until IS DISTINCT FROM CAST(:rest_until AS timestamptz)
