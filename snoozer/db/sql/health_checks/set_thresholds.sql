-- Set the thresholds of the invariants about time, and a longer statement_timeout for tables of any size. The settings
-- hold for the rest of the transaction.
SELECT
    set_config('snoozer.lease_seconds', CAST(:lease AS text), TRUE),
    set_config('snoozer.sweep_seconds', CAST(:sweep AS text), TRUE),
    set_config('snoozer.backoff_seconds', CAST(:backoff AS text), TRUE),
    set_config('statement_timeout', '5min', TRUE)
