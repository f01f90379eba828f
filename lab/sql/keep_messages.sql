-- Keep made-up messages of one person, out of the inbox already: the snoozes that return them are inserted next.
WITH made_up AS (
    SELECT message_id, subject, convert_to(original, 'UTF8') AS original
    FROM unnest(
        CAST(:message_ids AS text[]),
        CAST(:subjects AS text[]),
        CAST(:originals AS text[])
    ) AS message (message_id, subject, original)
),
kept AS (
    INSERT INTO messages (
        user_email, message_id, size, sha256, subject, sender_name, sender_email, snippet, folder, unread, returned,
        surfaced_at
    )
    SELECT
        :user_email, message_id, octet_length(original), encode(sha256(original), 'hex'), subject, :sender_name,
        :sender_email, '', 'snoozed', TRUE, FALSE, clock_timestamp()
    FROM made_up
    RETURNING id, message_id
)
INSERT INTO message_originals (id, original)
SELECT kept.id, made_up.original
FROM kept
JOIN made_up USING (message_id)
