-- Append one event of a snooze.
INSERT INTO snooze_events (snooze_id, kind, actor, route, detail)
VALUES (:snooze_id, :kind, :actor, :route, CAST(:detail AS jsonb))
RETURNING id
