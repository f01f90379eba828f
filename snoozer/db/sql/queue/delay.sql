-- Delay snoozes that wait, by an operator: none is tried before `until`, or each `span` later than it would be, counted from
-- `since` where it is due. No attempt is used, and the promise is kept.
UPDATE email_snoozes AS snooze
SET scheduled_for = snooze_promise(snooze),
    remind_at = GREATEST(
        snooze.remind_at,
        COALESCE(CAST(:until AS timestamptz), GREATEST(snooze.remind_at, :since) + CAST(:span AS interval))
    ),
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
WHERE id = ANY(:ids)
  AND outcome IS NULL
  AND NOT inactive
  AND claimed_at IS NULL
  AND snooze_keeps('promise')
RETURNING id, remind_at
