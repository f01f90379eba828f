-- Pushes of the last day by state and reason, what waits and since when, and the devices by problem. Codes and counts, no
-- addresses.
SELECT
    (
        SELECT COALESCE(jsonb_agg(jsonb_build_object('problem', problem, 'value', devices)), '[]')
        FROM (
            SELECT COALESCE(problem, 'none') AS problem, count(*) AS devices
            FROM push_devices
            GROUP BY COALESCE(problem, 'none')
        ) AS alike
    ) AS devices,
    (
        SELECT COALESCE(jsonb_agg(jsonb_build_object('state', state, 'reason', reason, 'value', sends)), '[]')
        FROM (
            SELECT state, COALESCE(reason, 'none') AS reason, count(*) AS sends
            FROM push_sends
            WHERE created_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
            GROUP BY state, COALESCE(reason, 'none')
        ) AS alike
    ) AS sends,
    (SELECT count(*) FROM push_sends WHERE state = 'reserved' AND try_at <= CURRENT_TIMESTAMP) AS due,
    COALESCE(
        (
            SELECT extract(epoch FROM clock_timestamp() - min(try_at))
            FROM push_sends
            WHERE state = 'reserved'
              AND try_at <= CURRENT_TIMESTAMP
        ),
        0
    ) AS oldest_due_seconds
