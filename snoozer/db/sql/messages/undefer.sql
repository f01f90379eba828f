-- Return the messages of these snoozes at their promised times, even within a rest of their owners. A message locked by
-- another transaction stays deferred.
WITH deferred AS MATERIALIZED (
    SELECT kept.id
    FROM email_snoozes AS snooze
    JOIN messages AS kept ON kept.user_email = snooze.user_email AND kept.message_id = snooze.message_id
    WHERE snooze.id = ANY(:snooze_ids)
      AND kept.is_kept
      AND kept.snooze_id = snooze.id
      AND kept.deferred_until IS NOT NULL
    FOR NO KEY UPDATE OF kept SKIP LOCKED
)
UPDATE messages AS kept
SET deferred_until = NULL
FROM deferred
WHERE kept.id = deferred.id
RETURNING kept.id
