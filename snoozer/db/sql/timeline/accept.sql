-- Accept the server, the database and the timeline as they are now: workers may go on with them.
INSERT INTO accepted_timelines (system_identifier, database_oid, timeline, accepted_by)
SELECT system_identifier, database_oid, timeline, :accepted_by
FROM snooze_timeline()
