-- A message was found in a folder below `Snooze`: enter it, or follow it there, and want it in the snoozed folder; or
-- home, if the folder's name is not a time, unless its return is promised. If the same Message-ID is known in another
-- mailbox, or still lies where it was, this is another copy: no row is returned, and the caller gives it its own id.
INSERT INTO messages AS message (
    mailbox_id, user_email, message_id, header_id, fingerprint, size, internal_date,
    home, place, wanted, folder, uidvalidity, uid, thread_ids
)
SELECT
    mailbox.id, :user_email, :message_id, :header_id, :fingerprint, :size, :internal_date,
    :home, :place, :wanted, :folder, :uidvalidity, :uid, :thread_ids
FROM mailboxes AS mailbox
WHERE mailbox.id = :mailbox_id
  AND mailbox.fence = :fence
ON CONFLICT (user_email, message_id, is_kept) DO UPDATE
SET header_id = EXCLUDED.header_id,
    fingerprint = EXCLUDED.fingerprint,
    size = EXCLUDED.size,
    internal_date = EXCLUDED.internal_date,
    place = EXCLUDED.place,
    wanted = CASE WHEN message.returns_at IS NULL THEN EXCLUDED.wanted ELSE 'snoozed' END,
    folder = EXCLUDED.folder,
    uidvalidity = EXCLUDED.uidvalidity,
    uid = EXCLUDED.uid,
    thread_ids = COALESCE(EXCLUDED.thread_ids, message.thread_ids),
    missing_since = NULL,
    moving_to = NULL,
    target_folder = NULL,
    target_uidvalidity = NULL,
    target_uidnext = NULL,
    updated_at = CURRENT_TIMESTAMP
WHERE message.mailbox_id = EXCLUDED.mailbox_id
RETURNING message.id
