-- name: accept
-- Accept the server, the database and the timeline as they are now: workers may go on with them.
INSERT INTO accepted_timelines (system_identifier, database_oid, timeline, accepted_by)
SELECT system_identifier, database_oid, timeline, :accepted_by
FROM snooze_timeline()

-- name: change
-- The difference since the last acceptance; no row if there is none. A value unknown on either side counts as equal.
WITH accepted AS MATERIALIZED (
    SELECT system_identifier, database_oid, timeline, accepted_at
    FROM accepted_timelines
    ORDER BY id DESC
    LIMIT 1
)
SELECT
    CASE
        WHEN present.system_identifier <> accepted.system_identifier THEN 'server'
        WHEN present.database_oid <> accepted.database_oid THEN 'database'
        ELSE 'timeline'
    END AS what,
    accepted.accepted_at
FROM accepted
CROSS JOIN snooze_timeline() AS present
WHERE present.system_identifier <> accepted.system_identifier
   OR present.database_oid <> accepted.database_oid
   OR present.timeline <> accepted.timeline
