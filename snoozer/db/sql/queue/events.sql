-- name: append
-- Append one event of a snooze.
INSERT INTO snooze_events (snooze_id, kind, actor, route, detail)
VALUES (:snooze_id, :kind, :actor, :route, CAST(:detail AS jsonb))
RETURNING id

-- name: append_many
-- Append one event for each of many snoozes; `token_id` is the token of the program that acted.
INSERT INTO snooze_events (snooze_id, kind, actor, route, detail, token_id)
SELECT line.snooze_id, :kind, :actor, :route, CAST(line.detail AS jsonb), CAST(:token_id AS bigint)
FROM unnest(CAST(:snooze_ids AS bigint[]), CAST(:details AS text[])) AS line (snooze_id, detail)
RETURNING id, snooze_id

-- name: undoable
-- Find the act to undo of each snooze, by its owner or by a reply: the newest, or the one in `events`. Acts that were
-- undone already, or after which an operator dismissed the case, are missing from the result. An event with
-- `gathers_over` is about all digests of the person, not about the snooze with which it is recorded.
SELECT DISTINCT ON (act.snooze_id) act.id, act.snooze_id, act.at, act.kind, act.detail
FROM snooze_events AS act
WHERE act.snooze_id = ANY(:ids)
  AND (act.actor = 'user' OR (act.actor = 'reply' AND act.kind = 'cancelled'))
  AND CASE
      WHEN CAST(:events AS bigint[]) IS NULL THEN NOT act.detail ? 'gathers_over'
      ELSE act.id = ANY(CAST(:events AS bigint[]))
  END
  AND NOT EXISTS (
      SELECT 1
      FROM snooze_events AS later
      WHERE later.snooze_id = act.snooze_id
        AND later.id > act.id
        AND (later.kind = 'dismissed' OR (later.kind = 'undone' AND later.detail ->> 'of' = CAST(act.id AS text)))
  )
ORDER BY act.snooze_id, act.id DESC
