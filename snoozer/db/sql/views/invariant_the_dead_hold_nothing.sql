-- Rows that a dead worker holds after the sweep.
CREATE OR REPLACE VIEW invariant_the_dead_hold_nothing AS
SELECT id AS snooze_id, NULL::bigint AS send_id, since, what
FROM (
    SELECT
        snooze.id,
        GREATEST(
            CASE WHEN workers.state = 'dead' THEN workers.stopped_at ELSE snooze.lease_expires_at END,
            snooze_server_met()
        ) AS since,
        CASE
            WHEN workers.state = 'dead' THEN 'held by a worker that is dead'
            ELSE 'held by a worker whose lease ran out'
        END AS what
    FROM email_snoozes AS snooze
    LEFT JOIN workers ON workers.id = snooze.claimed_by
    WHERE snooze.claimed_at IS NOT NULL
) AS held
WHERE since < clock_timestamp() - snooze_term('lease_seconds', 90) - snooze_term('sweep_seconds', 5);
