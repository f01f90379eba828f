-- Lock the days whose rests must be computed again, the oldest first: all, only that of `account_id`, or only those of
-- the owners of `snooze_ids`. A day locked by another transaction is skipped: it is being changed or computed there.
-- The zone is locked, too, so that both are as they are when the lock was granted.
WITH stale AS MATERIALIZED (
    SELECT
        day.account_id, day.working_days, day.work_from, day.work_until, day.quiet_from, day.quiet_until,
        day.quiet_until_off, day.rests_on_days_off, day.away_from, day.back_on, day.gathers_over,
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
