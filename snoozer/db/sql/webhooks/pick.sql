-- Choose and lock the endpoint whose turn it is: of those for which something is due that can be sent now, the one that
-- waited the longest for a turn. So no endpoint delays another.
-- `at_once` deliveries are on their way to one endpoint at most, one where it failed last. Without `any`, endpoints that
-- failed or answered late are passed over: they take some of the senders, never all.
-- The lock is waited for: the transactions that hold it write one answer. Where nothing is due, one look at an index says so.
SELECT endpoint.id
FROM webhook_endpoints AS endpoint
JOIN accounts ON accounts.id = endpoint.account_id
WHERE EXISTS (
        SELECT 1
        FROM webhook_deliveries
        WHERE state = 'waiting'
          AND try_at <= CURRENT_TIMESTAMP
    )
  AND endpoint.is_on
  AND COALESCE(endpoint.quiet_until <= CURRENT_TIMESTAMP, TRUE)
  AND (CAST(:any AS boolean) OR (endpoint.failures = 0 AND COALESCE(endpoint.answer_ms, 0) < :slow_ms))
  AND accounts.disabled_at IS NULL
  AND (
      SELECT count(*)
      FROM webhook_deliveries AS busy
      WHERE busy.endpoint_id = endpoint.id
        AND busy.claim_token IS NOT NULL
        AND busy.claimed_until > CURRENT_TIMESTAMP
  ) < CASE WHEN endpoint.failures = 0 THEN CAST(:at_once AS integer) ELSE 1 END
  AND webhook_next(endpoint.id) IS NOT NULL
ORDER BY endpoint.turn_at, endpoint.id
LIMIT 1
FOR NO KEY UPDATE OF endpoint
