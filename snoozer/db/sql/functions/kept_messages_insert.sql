-- An insert into the view kept_messages is a message and its original.
CREATE OR REPLACE FUNCTION kept_messages_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO messages (
        user_email, message_id, thread_ids, folder, size, arrived_at, sha256, subject, sender_name, sender_email,
        sent_at, snippet, unread, returned, surfaced_at
    )
    VALUES (
        NEW.user_email, NEW.message_id, NEW.thread_ids, COALESCE(NEW.folder, 'inbox'), octet_length(NEW.original),
        COALESCE(NEW.arrived_at, clock_timestamp()), NEW.sha256, NEW.subject, NEW.sender_name, NEW.sender_email,
        NEW.sent_at, NEW.snippet, COALESCE(NEW.unread, TRUE), COALESCE(NEW.returned, FALSE),
        COALESCE(NEW.surfaced_at, clock_timestamp())
    )
    ON CONFLICT DO NOTHING
    RETURNING id INTO NEW.id;
    IF NEW.id IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO message_originals (id, original) VALUES (NEW.id, NEW.original);
    RETURN NEW;
END
$$;
