-- A message is snoozed on a page: enter it where it is, and want it among what is snoozed. The process that watches the
-- mailbox finds it within a second, and moves it.
-- Of a move that has begun, the place before it stays: what became of it is found out first. What lies in a folder of ours
-- already returns to where it was to return.
INSERT INTO mailbox_messages AS message (
    mailbox_id, user_email, message_id, header_id, fingerprint, size, internal_date,
    home, place, wanted, folder, uidvalidity, uid, thread_ids
)
SELECT
    mailbox.id, :user_email, :message_id, :header_id, :fingerprint, :size, :internal_date,
    :home, :place, 'snoozed', :folder, :uidvalidity, :uid, :thread_ids
FROM mailboxes AS mailbox
WHERE mailbox.id = :mailbox_id
  AND mailbox.state <> 'leaving'
ON CONFLICT (user_email, message_id) DO UPDATE
SET header_id = EXCLUDED.header_id,
    fingerprint = EXCLUDED.fingerprint,
    size = EXCLUDED.size,
    internal_date = EXCLUDED.internal_date,
    thread_ids = COALESCE(EXCLUDED.thread_ids, message.thread_ids),
    wanted = 'snoozed',
    home = CASE WHEN EXCLUDED.place = 'home' AND message.moving_to IS NULL THEN EXCLUDED.home ELSE message.home END,
    place = CASE WHEN message.moving_to IS NULL THEN EXCLUDED.place ELSE message.place END,
    folder = CASE WHEN message.moving_to IS NULL THEN EXCLUDED.folder ELSE message.folder END,
    uidvalidity = CASE WHEN message.moving_to IS NULL THEN EXCLUDED.uidvalidity ELSE message.uidvalidity END,
    uid = CASE WHEN message.moving_to IS NULL THEN EXCLUDED.uid ELSE message.uid END,
    missing_since = CASE WHEN message.moving_to IS NULL THEN NULL ELSE message.missing_since END,
    updated_at = CURRENT_TIMESTAMP
WHERE message.mailbox_id = EXCLUDED.mailbox_id
RETURNING message.id
