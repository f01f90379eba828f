-- Serialize requests with the same idempotency key.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', CAST(:account_id AS text), CAST(:key AS text)), 7266838))
