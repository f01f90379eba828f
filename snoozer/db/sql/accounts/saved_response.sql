-- The answer already given to an idempotency key, until it is forgotten a day later.
SELECT request_sha256, status, body
FROM idempotency_keys
WHERE account_id = :account_id
  AND key = :key
