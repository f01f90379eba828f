-- Idempotency keys are worth a day; sign-in links and sessions go when they are over.
WITH answers AS (
    DELETE FROM idempotency_keys WHERE created_at < CURRENT_TIMESTAMP - INTERVAL '1 day'
),
links AS (
    DELETE FROM sign_ins WHERE expires_at < clock_timestamp() - INTERVAL '1 day'
)
DELETE FROM sessions WHERE expires_at < clock_timestamp()
