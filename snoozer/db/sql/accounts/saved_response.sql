-- The response saved for an idempotency key; deleted after a day.
SELECT request_sha256, status, body
FROM idempotency_keys
WHERE account_id = :account_id
  AND key = :key
