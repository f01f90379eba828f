-- Append one event for each of many snoozes.
INSERT INTO snooze_events (snooze_id, kind, actor, route, detail)
SELECT line.snooze_id, :kind, :actor, :route, CAST(line.detail AS jsonb)
FROM unnest(CAST(:snooze_ids AS bigint[]), CAST(:details AS text[])) AS line (snooze_id, detail)
RETURNING id, snooze_id
