-- Save the shape of a person's day. Its rests are not known until they are computed (day_shapes/lock_stale.sql). If
-- gathering is switched on, reminders of a rest that ends within a minute are not gathered: a worker may be reserving
-- them by the earlier choice.
INSERT INTO day_shapes (
    account_id, working_days, work_from, work_until, quiet_from, quiet_until, quiet_until_off,
    rests_on_days_off, away_from, back_on, gathers_over, gathered_until, known_until, refresh_at
)
VALUES (
    :account_id, CAST(:working_days AS smallint[]), :work_from, :work_until, :quiet_from, :quiet_until, :quiet_until_off,
    :rests_on_days_off, :away_from, :back_on, :gathers_over,
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
    known_until = EXCLUDED.known_until,
    refresh_at = EXCLUDED.refresh_at,
    changed = TRUE,
    updated_at = CURRENT_TIMESTAMP
