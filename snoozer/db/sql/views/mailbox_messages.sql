-- Messages in connected mailboxes, under the name that earlier releases and programs know.
CREATE OR REPLACE VIEW mailbox_messages AS
SELECT
    id, mailbox_id, user_email, message_id, header_id, fingerprint, size, internal_date, home, place, wanted, folder,
    uidvalidity, uid, missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext, returns_at,
    snooze_id, arrived_at AS created_at, updated_at, thread_ids, returns, deferred_until, aside
FROM messages
WHERE NOT is_kept;
