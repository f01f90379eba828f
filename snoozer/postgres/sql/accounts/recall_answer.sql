-- The answer already given to an idempotency key within a day.
SELECT request_sha256, status, body
FROM idempotency_keys
WHERE account_id = :account_id
  AND key = :key
