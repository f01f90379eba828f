-- Vacuumed and analyzed, as autovacuum leaves a table that was not just filled.
VACUUM ANALYZE email_snoozes
