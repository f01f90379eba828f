-- Keep made-up messages of one person, out of the inbox already: the snoozes that return them are inserted next.
INSERT INTO kept_messages (user_email, message_id, original, sha256, subject, sender_name, sender_email, snippet, folder)
SELECT
    :user_email,
    message.message_id,
    convert_to(message.original, 'UTF8'),
    encode(sha256(convert_to(message.original, 'UTF8')), 'hex'),
    message.subject,
    :sender_name,
    :sender_email,
    '',
    'snoozed'
FROM unnest(
    CAST(:message_ids AS text[]),
    CAST(:subjects AS text[]),
    CAST(:originals AS text[])
) AS message (message_id, subject, original)
