-- When each job was done, by Procrastinate's events, and when the first one of all was started, in seconds.
SELECT
    extract(epoch FROM at)::float8 AS at,
    (SELECT extract(epoch FROM min(at))::float8 FROM procrastinate_events WHERE type = 'started') AS began
FROM procrastinate_events
WHERE type = 'succeeded'
