-- Have messages moved to another folder, for their owner and not for a snooze: from home to `aside`, or from there to
-- home. The process that watches the mailbox moves them. Messages that are to be snoozed or are being moved stay as
-- they are, without a row in the result. A message taken from the snoozed folder keeps its home.
INSERT INTO messages AS message (
    mailbox_id, user_email, message_id, header_id, fingerprint, size, internal_date,
    home, aside, place, wanted, folder, uidvalidity, uid, thread_ids
)
SELECT
    mailbox.id, seen.user_email, seen.message_id, seen.header_id, seen.fingerprint, seen.size, seen.internal_date,
    seen.home, COALESCE(CAST(:aside AS text), seen.folder), seen.place, :wanted, seen.folder, seen.uidvalidity, seen.uid,
    seen.thread_ids
FROM jsonb_populate_recordset(CAST(NULL AS messages), CAST(:seen AS jsonb)) AS seen
JOIN mailboxes AS mailbox ON mailbox.id = :mailbox_id
WHERE mailbox.state <> 'leaving'
ORDER BY seen.message_id
ON CONFLICT (user_email, message_id, is_kept) DO UPDATE
SET header_id = EXCLUDED.header_id,
    fingerprint = EXCLUDED.fingerprint,
    size = EXCLUDED.size,
    internal_date = EXCLUDED.internal_date,
    thread_ids = COALESCE(EXCLUDED.thread_ids, message.thread_ids),
    wanted = EXCLUDED.wanted,
    home = CASE WHEN EXCLUDED.place = 'snoozed' THEN message.home ELSE EXCLUDED.home END,
    aside = EXCLUDED.aside,
    place = EXCLUDED.place,
    folder = EXCLUDED.folder,
    uidvalidity = EXCLUDED.uidvalidity,
    uid = EXCLUDED.uid,
    missing_since = NULL,
    updated_at = CURRENT_TIMESTAMP
WHERE message.mailbox_id = EXCLUDED.mailbox_id
  AND message.moving_to IS NULL
  AND (message.wanted <> 'snoozed' OR EXCLUDED.place = 'snoozed')
RETURNING message.id, message.place
