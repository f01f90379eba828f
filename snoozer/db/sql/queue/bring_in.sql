-- Bring back what a pause of operators has set aside, for its own time: late ones are due at once. One whose message was
-- snoozed again stays paused, now for its owner to resume.
UPDATE email_snoozes AS snooze
SET inactive = twin.is_live,
    paused_by = NULL,
    behind_key = FALSE,
    updated_at = CURRENT_TIMESTAMP
FROM (
    SELECT
        aside.id,
        EXISTS (
            SELECT 1
            FROM email_snoozes AS other
            WHERE other.user_email = aside.user_email
              AND other.message_id = aside.message_id
              AND other.id <> aside.id
              AND NOT other.inactive
        ) AS is_live
    FROM email_snoozes AS aside
    WHERE aside.id = ANY(:ids)
) AS twin
WHERE snooze.id = twin.id
  AND snooze.paused_by = :pause_id
RETURNING snooze.id, snooze.inactive
