-- Enter a pause, by an operator; once while a pause of the same scope lasts. Zero rows if it is paused already.
INSERT INTO pauses (kind, value, actor, reason, until)
VALUES (:kind, :value, :actor, :reason, CURRENT_TIMESTAMP + CAST(:span AS interval))
ON CONFLICT (kind, value) WHERE ended_at IS NULL DO NOTHING
RETURNING id
