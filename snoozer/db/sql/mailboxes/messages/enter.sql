-- Enter messages that are snoozed on a page where they are, and want them in the snoozed folder. The process that
-- watches the mailbox finds them within a second, and moves them. If a move has begun, its source place stays, because
-- the result of that move is found out first. A message that lies in a Snoozer folder already keeps its home. A message
-- that is snoozed with its conversation returns at the time of that snooze.
INSERT INTO messages AS message (
    mailbox_id, user_email, message_id, header_id, fingerprint, size, internal_date,
    home, place, wanted, folder, uidvalidity, uid, thread_ids, snooze_id, returns_at
)
SELECT
    mailbox.id, seen.user_email, seen.message_id, seen.header_id, seen.fingerprint, seen.size, seen.internal_date,
    seen.home, seen.place, 'snoozed', seen.folder, seen.uidvalidity, seen.uid, seen.thread_ids,
    snooze.id, snooze_return_at(snooze)
FROM jsonb_populate_recordset(CAST(NULL AS messages), CAST(:seen AS jsonb)) AS seen
JOIN email_snoozes AS snooze ON snooze.id = seen.snooze_id
JOIN mailboxes AS mailbox ON mailbox.id = :mailbox_id
WHERE mailbox.state <> 'leaving'
ORDER BY seen.message_id
ON CONFLICT (user_email, message_id, is_kept) DO UPDATE
SET header_id = EXCLUDED.header_id,
    fingerprint = EXCLUDED.fingerprint,
    size = EXCLUDED.size,
    internal_date = EXCLUDED.internal_date,
    thread_ids = COALESCE(EXCLUDED.thread_ids, message.thread_ids),
    wanted = 'snoozed',
    snooze_id = EXCLUDED.snooze_id,
    returns_at = EXCLUDED.returns_at,
    home = CASE WHEN EXCLUDED.place = 'home' AND message.moving_to IS NULL THEN EXCLUDED.home ELSE message.home END,
    place = CASE WHEN message.moving_to IS NULL THEN EXCLUDED.place ELSE message.place END,
    folder = CASE WHEN message.moving_to IS NULL THEN EXCLUDED.folder ELSE message.folder END,
    uidvalidity = CASE WHEN message.moving_to IS NULL THEN EXCLUDED.uidvalidity ELSE message.uidvalidity END,
    uid = CASE WHEN message.moving_to IS NULL THEN EXCLUDED.uid ELSE message.uid END,
    missing_since = CASE WHEN message.moving_to IS NULL THEN NULL ELSE message.missing_since END,
    updated_at = CURRENT_TIMESTAMP
WHERE message.mailbox_id = EXCLUDED.mailbox_id
RETURNING message.id
