-- The terms that the invariants of time go by, for this transaction, and patience for tables of any size.
SELECT
    set_config('snoozer.lease_seconds', CAST(:lease AS text), TRUE),
    set_config('snoozer.sweep_seconds', CAST(:sweep AS text), TRUE),
    set_config('snoozer.backoff_seconds', CAST(:backoff AS text), TRUE),
    set_config('statement_timeout', '5min', TRUE)
