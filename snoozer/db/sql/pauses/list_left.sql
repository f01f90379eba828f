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
