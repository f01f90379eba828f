-- Serialize deliveries of the same bytes to one person.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', CAST(:user_email AS text), CAST(:sha256 AS text)), 7266840))
