-- Choose and lock the endpoint whose turn it is: the endpoint that has waited the longest for a turn and has a due
-- delivery that can be sent now. So no endpoint delays another. At most `at_once` deliveries are on their way to one
-- endpoint, only one if it failed last. Without `any`, endpoints that failed or answered late are passed over: they
-- take some of the senders, never all. This statement waits for the lock, because the transactions that hold it only
-- write one answer. If no delivery is due, one look at an index shows it.
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
