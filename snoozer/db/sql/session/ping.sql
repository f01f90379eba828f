-- Check that the session is alive.
SELECT
