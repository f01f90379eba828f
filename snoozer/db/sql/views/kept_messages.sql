-- Messages that Snoozer keeps, under the name that earlier releases and programs know.
CREATE OR REPLACE VIEW kept_messages AS
SELECT
    id, user_email, message_id,
    (SELECT original FROM message_originals AS its WHERE its.id = messages.id) AS original,
    sha256, subject, sender_name, sender_email, sent_at, folder, unread, arrived_at, surfaced_at, returned, thread_ids,
    returns_at, snooze_id, deferred_until, snippet
FROM messages
WHERE is_kept;

CREATE OR REPLACE TRIGGER kept_messages_insert
    INSTEAD OF INSERT ON kept_messages
    FOR EACH ROW
    EXECUTE FUNCTION kept_messages_insert();
