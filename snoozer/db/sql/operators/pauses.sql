-- name: begin
-- Enter a pause, once while a pause of the same scope lasts. Zero rows if it is paused already, or if such a pause ended
-- after the cause of this one.
INSERT INTO pauses (kind, value, actor, reason, until)
SELECT :kind, :value, :actor, :reason, CURRENT_TIMESTAMP + CAST(:span AS interval)
WHERE NOT EXISTS (
    SELECT 1
    FROM pauses
    WHERE kind = :kind
      AND value = :value
      AND ended_at > CAST(:unless_ended_after AS timestamptz)
)
ON CONFLICT (kind, value) WHERE ended_at IS NULL DO NOTHING
RETURNING id

-- name: count_due
-- How many of the snoozes that are due within an hour, the soonest first, a pause would set aside.
SELECT
    count(*) AS looked_at,
    count(*) FILTER (
        WHERE CAST(:kind AS text) = 'all'
           OR (:kind = 'channel' AND CAST(:value AS text) = 'mail')
           OR (:kind IN ('person', 'invalid') AND lower(user_email) = :value)
           OR (:kind = 'domain' AND snooze_recipient_domain(user_email) = :value)
           OR (:kind = 'class' AND CAST(priority AS text) = :value)
    ) AS paused
FROM (
    SELECT user_email, priority
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND remind_at <= CURRENT_TIMESTAMP + INTERVAL '1 hour'
    ORDER BY remind_at
    LIMIT :limit
) AS soonest

-- name: end
-- End a pause. A transaction that sets rows aside for it has it locked, and is waited for: what comes later sees that it is
-- over, so the rows that it has set aside are all that there are.
UPDATE pauses
SET ended_at = clock_timestamp(),
    ended_by = :actor
WHERE id = :id
  AND ended_at IS NULL
RETURNING id

-- name: erase
-- Delete the pauses of a person whose account is deleted, and of their address.
DELETE FROM pauses
WHERE kind IN ('person', 'invalid')
  AND value = lower(:user_email)
RETURNING id

-- name: list_expired
-- Pauses whose time is over and that were not ended yet.
SELECT id
FROM pauses
WHERE ended_at IS NULL
  AND until <= CURRENT_TIMESTAMP
ORDER BY id
LIMIT :limit

-- name: list_left
-- Ended pauses that still have rows set aside, and that no operation resumes. A resume of the last hour counts, too, so
-- that a row that cannot be changed is tried again hourly. One step in the index for each pause.
WITH RECURSIVE held AS (
    (
        SELECT paused_by AS id
        FROM email_snoozes
        WHERE paused_by IS NOT NULL
        ORDER BY paused_by
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT snooze.paused_by
        FROM email_snoozes AS snooze
        WHERE snooze.paused_by IS NOT NULL
          AND snooze.paused_by > held.id
        ORDER BY snooze.paused_by
        LIMIT 1
    )
    FROM held
    WHERE held.id IS NOT NULL
)
SELECT held.id
FROM held
WHERE held.id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM pauses WHERE pauses.id = held.id AND pauses.ended_at IS NULL)
  AND NOT EXISTS (
      SELECT 1
      FROM operations AS operation
      WHERE operation.act = 'resume'
        AND operation.parameters ->> 'pause' = CAST(held.id AS text)
        AND (operation.finished_at IS NULL OR operation.finished_at > CURRENT_TIMESTAMP - INTERVAL '1 hour')
  )
ORDER BY held.id
LIMIT :limit
