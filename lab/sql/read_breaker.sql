-- The breaker of the one mail server; no row before the first claim.
SELECT state, failures, last_failure FROM circuit_breakers ORDER BY updated_at DESC LIMIT 1
