-- Save the first response to an idempotency key. Returns no row when another request was first.
INSERT INTO idempotency_keys (account_id, key, request_sha256, status, body)
VALUES (:account_id, :key, :request_sha256, :status, :body)
ON CONFLICT (account_id, key) DO NOTHING
RETURNING key
