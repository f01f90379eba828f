-- name: choose
-- Search for the message of a new snooze in these mailboxes alone, unless the message is known; NULL for all of them. If
-- `whole`, older messages of its conversation leave with it.
WITH others AS (
    DELETE FROM mailbox_searches
    WHERE snooze_id = :snooze_id
      AND mailbox_id <> ALL(CAST(:mailbox_ids AS bigint[]))
)
INSERT INTO mailbox_searches (mailbox_id, snooze_id, whole)
SELECT mailbox.id, snooze.id, :whole
FROM email_snoozes AS snooze
JOIN mailboxes AS mailbox
    ON mailbox.id = ANY(COALESCE(
        CAST(:mailbox_ids AS bigint[]),
        ARRAY(SELECT mailbox_id FROM mailbox_searches WHERE snooze_id = :snooze_id)
    ))
WHERE snooze.id = :snooze_id
  AND NOT EXISTS (
      SELECT 1
      FROM messages AS known
      WHERE known.user_email = snooze.user_email
        AND known.message_id = snooze.message_id
  )
ON CONFLICT (mailbox_id, snooze_id) DO UPDATE SET whole = EXCLUDED.whole

-- name: decide
-- End the searches of these snoozes whose mailboxes have all reported; the results are complete. A mailbox that has a
-- problem is not waited for, and no mailbox longer than a minute.
DELETE FROM mailbox_searches AS search
WHERE search.snooze_id = ANY(CAST(:snooze_ids AS bigint[]))
  AND NOT EXISTS (
      SELECT 1
      FROM mailbox_searches AS other
      JOIN mailboxes AS mailbox ON mailbox.id = other.mailbox_id
      WHERE other.snooze_id = search.snooze_id
        AND other.found IS NULL
        AND other.entered_at > clock_timestamp() - INTERVAL '1 minute'
        AND mailbox.state = 'active'
        AND mailbox.problem IS NULL
  )
RETURNING search.snooze_id, search.mailbox_id, COALESCE(search.found, 0) AS found, search.seen

-- name: list_open
-- Snoozes whose messages are to be searched for in this mailbox. A search that others did not finish within a minute is
-- repeated, and then decided without them.
SELECT search.snooze_id, snooze.user_email, snooze.message_id, search.whole
FROM mailbox_searches AS search
JOIN email_snoozes AS snooze ON snooze.id = search.snooze_id
WHERE search.mailbox_id = :mailbox_id
  AND search.snooze_id > :above
  AND (search.found IS NULL OR search.entered_at < clock_timestamp() - INTERVAL '1 minute')
ORDER BY search.snooze_id
LIMIT :batch_size

-- name: lock
-- Lock live snoozes before their messages are entered, as everywhere else; a snooze that is over by now is left out.
SELECT id
FROM email_snoozes
WHERE id = ANY(CAST(:snooze_ids AS bigint[]))
  AND NOT inactive
ORDER BY id
FOR NO KEY UPDATE

-- name: prune
-- Forget the searches of a mailbox that have nothing to find: the snooze is over, due or paused, or its message is
-- known, because a page or a folder snoozed it; or its owner's account is closed.
DELETE FROM mailbox_searches AS search
WHERE search.mailbox_id = :mailbox_id
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS snooze
      WHERE snooze.id = search.snooze_id
        AND NOT snooze.inactive
        AND snooze.remind_at > CURRENT_TIMESTAMP
        AND NOT :is_closed
        AND NOT EXISTS (
            SELECT 1
            FROM messages AS known
            WHERE known.user_email = snooze.user_email
              AND known.message_id = snooze.message_id
        )
  )

-- name: report
-- Record how many messages were found in this mailbox for each snooze, and the places of the only one and of the older
-- messages that leave with it. No row for a
-- search that ended without this mailbox, or if another process owns the mailbox.
UPDATE mailbox_searches AS search
SET found = result.found,
    seen = result.seen
FROM jsonb_to_recordset(CAST(:results AS jsonb)) AS result (snooze_id bigint, found smallint, seen jsonb)
CROSS JOIN mailboxes AS mailbox
WHERE mailbox.id = :mailbox_id
  AND mailbox.fence = :fence
  AND search.mailbox_id = mailbox.id
  AND search.snooze_id = result.snooze_id
RETURNING search.snooze_id
