-- Move times on the clock to another zone, or to newer rules of their zone; each move is a new promise.
-- Rows that are due, claimed or changed since they were read stay as they are.
UPDATE email_snoozes AS snooze
SET remind_at = requested.remind_at,
    zone = requested.zone,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(
    CAST(:ids AS bigint[]),
    CAST(:promised AS timestamptz[]),
    CAST(:remind_at AS timestamptz[]),
    CAST(:zones AS text[])
) AS requested (id, promised, remind_at, zone)
WHERE snooze.id = requested.id
  AND snooze_promise(snooze) = requested.promised
  AND requested.promised > CURRENT_TIMESTAMP
  AND snooze.time_kind = 'wall'
  AND snooze.claimed_at IS NULL
  AND snooze.outcome IS NULL
  AND snooze_keeps('clock')
RETURNING snooze.id
