-- Settled, as a table is that nobody has just filled.
VACUUM ANALYZE email_snoozes
