-- Mail servers to which nothing is sent now.
CREATE OR REPLACE VIEW open_breakers AS
SELECT server, state, refuses_everybody, COALESCE(away_since, opened_at, updated_at) AS since
FROM circuit_breakers
WHERE state <> 'closed'
  AND (updated_at > clock_timestamp() - INTERVAL '1 hour');
