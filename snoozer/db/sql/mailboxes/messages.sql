-- name: abandon
-- Record that the move did not happen: the messages are in their former folders.
UPDATE messages AS message
SET moving_to = NULL,
    target_folder = NULL,
    target_uidvalidity = NULL,
    target_uidnext = NULL,
    was_unread = message.was_unread AND message.place = 'snoozed',
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.id = ANY(:ids)
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
RETURNING message.id

-- name: date_arrivals
-- Give messages of a trial's sample week the times that they are dated, in place of the moment they came in.
UPDATE messages
SET arrived_at = sent_at,
    surfaced_at = sent_at
WHERE is_kept
  AND user_email = :user_email
  AND message_id = ANY(CAST(:message_ids AS text[]))
  AND sent_at < arrived_at
  AND NOT returned

-- name: find
-- The entries of these messages of a person, in whichever mailbox.
SELECT
    id, message_id, mailbox_id, place, folder, uidvalidity, uid,
    wanted = 'snoozed' OR returns_at IS NOT NULL AS is_snoozed
FROM messages
WHERE NOT is_kept
  AND user_email = :user_email
  AND message_id = ANY(CAST(:message_ids AS text[]))

-- name: find_kept
-- The kept message with these bytes. With `repeatable` (no Message-ID and no date), only a message that is unread in
-- the inbox.
SELECT id
FROM messages
WHERE is_kept
  AND user_email = :user_email
  AND sha256 = :sha256
  AND (NOT CAST(:repeatable AS boolean) OR (folder = 'inbox' AND unread))
ORDER BY id
LIMIT 1

-- name: follow
-- A message was moved on a page, from home to another folder or back: its entry follows it, so that a recurring snooze
-- returns it from there.
UPDATE messages
SET place = :place,
    wanted = :place,
    aside = CASE WHEN :place = 'aside' THEN :new_folder ELSE aside END,
    folder = :new_folder,
    uidvalidity = :new_uidvalidity,
    uid = :new_uid,
    updated_at = CURRENT_TIMESTAMP
WHERE mailbox_id = :mailbox_id
  AND folder = :folder
  AND uidvalidity = :uidvalidity
  AND uid = :uid
  AND moving_to IS NULL
  AND place IN ('home', 'aside')
  AND wanted = place
RETURNING id

-- name: forget
-- Forget a message that was taken out of the snoozed folder, or deleted: its owner handles it from now on.
DELETE FROM messages AS message
USING mailboxes AS mailbox
WHERE message.id = :id
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
RETURNING message.id

-- name: forget_given_back
-- Forget messages that only had to be given back, and are back: they belong to no snooze, and have ids of this domain.
DELETE FROM messages AS message
USING mailboxes AS mailbox
WHERE message.mailbox_id = :mailbox_id
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
  AND message.place = 'home'
  AND message.moving_to IS NULL
  AND message.returns_at IS NULL
  AND message.message_id LIKE '%@' || :domain || '>'

-- name: intend
-- Record that these messages are about to be moved, the next UID of the target, and which are about to be marked as read.
UPDATE messages AS message
SET moving_to = :moving_to,
    was_unread = message.was_unread OR message.id = ANY(CAST(:unread AS bigint[])),
    target_folder = :target_folder,
    target_uidvalidity = :target_uidvalidity,
    target_uidnext = :target_uidnext,
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.id = ANY(:ids)
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
  AND message.place <> 'missing'
RETURNING message.id

-- name: leave
-- Bring back all messages that lie in a Snoozer folder: the owner disconnects the mailbox.
UPDATE messages AS message
SET wanted = CASE message.wanted WHEN 'snoozed' THEN 'home' ELSE message.wanted END,
    returns_at = NULL,
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.mailbox_id = :mailbox_id
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
  AND mailbox.state = 'leaving'
  AND (message.wanted = 'snoozed' OR message.returns_at IS NOT NULL)
RETURNING message.id

-- name: list_at
-- The entries of messages that lie in a folder under these UIDs, and whether each is already to be snoozed.
SELECT
    uid, message_id,
    wanted = 'snoozed' AS is_wanted
FROM messages
WHERE mailbox_id = :mailbox_id
  AND folder = :folder
  AND uidvalidity = :uidvalidity
  AND uid = ANY(CAST(:uids AS bigint[]))
  AND place <> 'missing'

-- name: list_in_folder
-- The UIDs in a folder that are entered already.
SELECT uid
FROM messages
WHERE mailbox_id = :mailbox_id
  AND folder = :folder
  AND uidvalidity = :uidvalidity
  AND place <> 'missing'

-- name: list_snoozed
-- Messages that lie in a Snoozer folder, or did until they went missing; a missing one is due if it was due then.
SELECT
    id, user_email, message_id, header_id, fingerprint, size, internal_date, home, aside, place, wanted, folder, uidvalidity, uid,
    missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext, returns_at, snooze_id, was_unread,
    COALESCE(GREATEST(returns_at, deferred_until) <= COALESCE(missing_since, clock_timestamp()), FALSE)
        AND (SELECT until FROM snooze_deferral(user_email, snooze_id, returns_at)) IS NULL AS is_due
FROM messages
WHERE mailbox_id = :mailbox_id
  AND place IN ('snoozed', 'missing')
  AND moving_to IS NULL
ORDER BY uid

-- name: list_without_snippet
-- Kept messages whose snippet is not known yet, with their first bytes, which contain the text if there is any. A
-- message that another transaction has locked is skipped.
WITH unread AS MATERIALIZED (
    SELECT id
    FROM messages
    WHERE is_kept
      AND snippet IS NULL
    ORDER BY id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id, substring(original FROM 1 FOR :size) AS original
FROM message_originals
JOIN unread USING (id)

-- name: lock_chosen
-- Lock messages of connected mailboxes that their owner has chosen, and messages of their conversations that were snoozed
-- with them, under their Message-IDs; in the order of their ids; `want_back` takes them. `is_back` is true if no snooze is
-- going to return the message.
SELECT
    message.id, COALESCE(snooze.message_id, message.message_id) AS message_id, message.wanted, message.place,
    message.returns_at IS NULL AS is_back
FROM messages AS message
LEFT JOIN email_snoozes AS snooze ON snooze.id = message.snooze_id
WHERE NOT message.is_kept
  AND message.user_email = :user_email
  AND (
      message.message_id = ANY(:message_ids)
      OR message.snooze_id = ANY(ARRAY(
          SELECT id
          FROM email_snoozes
          WHERE user_email = :user_email
            AND message_id = ANY(:message_ids)
      ))
  )
ORDER BY message.id
FOR NO KEY UPDATE OF message

-- name: lock_many
-- Lock kept messages of their owner, in the order of their ids. `was` is what `put_back` takes; `is_back` is true if no
-- snooze is going to return the message.
SELECT
    id,
    message_id,
    subject,
    sender_email,
    returns_at IS NULL AS is_back,
    jsonb_build_object('id', id, 'message_id', message_id, 'folder', folder, 'unread', unread, 'returned', returned) AS was
FROM messages
WHERE is_kept
  AND user_email = :user_email
  AND message_id = ANY(:message_ids)
ORDER BY id
FOR NO KEY UPDATE

-- name: lock_original
-- Serialize deliveries of the same bytes to one person.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', CAST(:user_email AS text), CAST(:sha256 AS text)), 7266840))

-- name: mark
-- Mark a kept message as unread or read, by its owner.
UPDATE messages
SET unread = :unread
WHERE id = :id
  AND is_kept
  AND user_email = :user_email
RETURNING id

-- name: mark_missing
-- Record that messages left their known folders and are sought.
UPDATE messages AS message
SET place = 'missing',
    missing_since = COALESCE(missing_since, clock_timestamp()),
    moving_to = NULL,
    target_folder = NULL,
    target_uidvalidity = NULL,
    target_uidnext = NULL,
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.id = ANY(:ids)
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
RETURNING message.id

-- name: move_many
-- Move kept messages to a folder of their owner. Only messages that a snooze will return go to `snoozed`, here or in
-- the mailbox that they are in, with their conversations. A message that is done becomes read; a message in the inbox
-- keeps its place there.
UPDATE messages
SET folder = CASE WHEN is_kept THEN :folder ELSE folder END,
    unread = CASE WHEN :folder = 'done' THEN FALSE ELSE unread END,
    returned = CASE WHEN is_kept THEN FALSE END,
    wanted = CASE WHEN NOT is_kept THEN 'snoozed' END,
    updated_at = CURRENT_TIMESTAMP
WHERE user_email = :user_email
  AND (
      message_id = ANY(:message_ids)
      OR snooze_id = ANY(ARRAY(
          SELECT id
          FROM email_snoozes
          WHERE user_email = :user_email
            AND message_id = ANY(:message_ids)
            AND NOT inactive
      ))
  )
  AND (
      (NOT is_kept AND :folder = 'snoozed')
      OR (is_kept AND (folder <> :folder OR (returned AND :folder <> 'inbox') OR (unread AND :folder = 'done')))
  )
  AND (:folder <> 'snoozed' OR returns_at IS NOT NULL)
RETURNING message_id, is_kept

-- name: others
-- Whether the snooze of this message is going to return others of its conversation, and whether others are back and none
-- is awaited for the same promise.
SELECT
    COALESCE(bool_or(other.returns_at IS NOT NULL), FALSE) AS are_asleep,
    COALESCE(bool_and(other.returns_at IS DISTINCT FROM message.returns_at), FALSE) AS are_back
FROM messages AS message
JOIN messages AS other ON other.snooze_id = message.snooze_id AND other.id <> message.id AND NOT other.is_kept
WHERE message.id = :id

-- name: prune
-- Forget messages of connected mailboxes that have been in their folders for a month and that no snooze returns.
DELETE FROM messages
WHERE id IN (
    SELECT id
    FROM messages
    WHERE mailbox_id IS NOT NULL
      AND place IN ('home', 'aside')
      AND wanted = place
      AND moving_to IS NULL
      AND returns_at IS NULL
      AND updated_at < CURRENT_TIMESTAMP - INTERVAL '30 days'
    ORDER BY id
    LIMIT :batch_size
)
RETURNING id

-- name: put_back
-- Restore the folder and marks that kept messages had before an act on many of them, for their owner. A message that
-- was moved elsewhere since stays there.
UPDATE messages AS kept
SET folder = was.folder,
    unread = was.unread,
    returned = was.returned
FROM jsonb_to_recordset(CAST(:before AS jsonb)) AS was (
    id bigint, folder text, unread boolean, returned boolean, became text
)
WHERE kept.id = was.id
  AND kept.is_kept
  AND kept.user_email = :user_email
  AND (kept.folder = was.became OR (kept.folder = 'inbox' AND was.folder = 'snoozed'))
  AND (was.folder <> 'snoozed' OR kept.returns_at IS NOT NULL)
RETURNING kept.id, kept.message_id

-- name: relocate_back
-- Undo `relocate` for the owner of the messages, unless they are wanted elsewhere by now. Messages without a live
-- snooze are not moved to the snoozed folder.
UPDATE messages AS message
SET wanted = was.place,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:places AS text[]), CAST(:wanted AS text[])) AS was (id, place, wanted)
WHERE message.id = was.id
  AND message.user_email = :user_email
  AND message.wanted = was.wanted
  AND (was.place <> 'snoozed' OR message.returns_at IS NOT NULL)
RETURNING message.id

-- name: save_captured
-- Save a message that the mail sink accepted.
INSERT INTO sink_messages (mail_from, rcpt_to, original)
VALUES (:mail_from, :rcpt_to, :original)
RETURNING id

-- name: save_snippets
-- Save the snippets of kept messages.
UPDATE messages AS kept
SET snippet = found.snippet
FROM unnest(CAST(:ids AS bigint[]), CAST(:snippets AS text[])) AS found (id, snippet)
WHERE kept.id = found.id

-- name: stay
-- Move these messages to `home` now and leave them there: only their reminders come (trigger messages_stay).
UPDATE messages AS message
SET returns = FALSE,
    place = 'snoozed',
    wanted = 'home',
    home = :home,
    updated_at = CURRENT_TIMESTAMP
FROM mailboxes AS mailbox
WHERE message.id = ANY(:ids)
  AND mailbox.id = message.mailbox_id
  AND mailbox.fence = :fence
  AND message.place <> 'missing'
  AND message.wanted = 'snoozed'
RETURNING message.id

-- name: undefer
-- Return the messages of these snoozes at their promised times, even within a rest of their owners. A message locked by
-- another transaction stays deferred.
WITH deferred AS MATERIALIZED (
    SELECT kept.id
    FROM email_snoozes AS snooze
    JOIN messages AS kept ON kept.snooze_id = snooze.id
    WHERE snooze.id = ANY(:snooze_ids)
      AND kept.is_kept
      AND kept.deferred_until IS NOT NULL
    FOR NO KEY UPDATE OF kept SKIP LOCKED
)
UPDATE messages AS kept
SET deferred_until = NULL
FROM deferred
WHERE kept.id = deferred.id
RETURNING kept.id

-- name: want_back
-- Restore where messages of connected mailboxes were wanted before an act on many of them, for their owner. Messages
-- without a live snooze are not moved to the snoozed folder.
UPDATE messages AS message
SET wanted = was.wanted,
    updated_at = CURRENT_TIMESTAMP
FROM unnest(CAST(:ids AS bigint[]), CAST(:wanted AS text[])) AS was (id, wanted)
WHERE message.id = was.id
  AND message.user_email = :user_email
  AND message.wanted <> was.wanted
  AND (was.wanted <> 'snoozed' OR message.returns_at IS NOT NULL)
RETURNING message.id
