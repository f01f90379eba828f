-- Rows that are due and that no worker takes.
CREATE OR REPLACE VIEW invariant_due_is_taken AS
SELECT
    id AS snooze_id,
    NULL::bigint AS send_id,
    GREATEST(remind_at, created_at, snooze_server_met()) AS since,
    'due, and nobody takes it' AS what
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND attempts < max_attempts
  AND remind_at <= CURRENT_TIMESTAMP
  AND GREATEST(remind_at, created_at, snooze_server_met())
    < clock_timestamp()
    - snooze_term('lease_seconds', 90) - snooze_term('sweep_seconds', 5) - snooze_term('backoff_seconds', 60)
  AND NOT EXISTS (SELECT 1 FROM open_breakers)
  AND NOT EXISTS (
      SELECT 1
      FROM pauses
      WHERE ended_at IS NULL
        AND (kind = 'all' OR (kind = 'channel' AND value = 'mail'))
  );
