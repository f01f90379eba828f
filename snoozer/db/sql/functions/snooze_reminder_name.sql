-- The Message-ID of a reminder, the same for each copy.
CREATE OR REPLACE FUNCTION snooze_reminder_name(snooze_id bigint, owner text, message text, promise timestamp with time zone, domain text) RETURNS text
    LANGUAGE sql
    STABLE
    AS $$
SELECT '<' || left(encode(sha256(convert_to(concat_ws(
    chr(10), snooze_id, owner, message, extract(epoch FROM promise), 'email'
), 'UTF8')), 'hex'), 40) || '@' || domain || '>'
$$;
