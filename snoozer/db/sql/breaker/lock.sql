-- The state of a breaker, for an act of an operator; locked until the transaction ends.
SELECT state, failures, opened_at, tripped_at
FROM circuit_breakers
WHERE server = :server
FOR NO KEY UPDATE
