-- Record consecutive failures of the mail server. The breaker opens at the threshold, or again when a probe failed.
-- refuses_everybody says why it opened: the server refused the messages of many recipients in a row.
UPDATE circuit_breakers
SET failures = LEAST(failures, 1000000) + :failures,
    last_failure = :reason,
    last_failure_at = clock_timestamp(),
    state = CASE
        WHEN probe_token = CAST(:probe_token AS uuid) THEN 'open'
        WHEN state = 'closed' AND LEAST(failures, 1000000) + :failures >= :threshold THEN 'open'
        ELSE state
    END,
    opened_at = CASE
        WHEN probe_token = CAST(:probe_token AS uuid) THEN clock_timestamp()
        WHEN state = 'closed' AND LEAST(failures, 1000000) + :failures >= :threshold THEN clock_timestamp()
        ELSE opened_at
    END,
    away_since = CASE
        WHEN state = 'closed' AND LEAST(failures, 1000000) + :failures >= :threshold THEN clock_timestamp()
        ELSE away_since
    END,
    refuses_everybody = CASE
        WHEN probe_token = CAST(:probe_token AS uuid) OR state = 'closed' THEN :refuses_everybody
        ELSE refuses_everybody
    END,
    probe_token = CASE WHEN probe_token = CAST(:probe_token AS uuid) THEN NULL ELSE probe_token END,
    probe_at = CASE WHEN probe_token = CAST(:probe_token AS uuid) THEN NULL ELSE probe_at END,
    updated_at = clock_timestamp()
WHERE server = :server
RETURNING state
