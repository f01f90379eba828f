-- Keep a message byte for byte. One whose Message-ID belongs to other bytes gets a substitute id.
-- Returns no row when a concurrent transaction has just taken that Message-ID; calling again then helps.
INSERT INTO kept_messages (
    user_email, message_id, thread_ids, original, sha256, subject, sender_name, sender_email, sent_at, snippet, folder,
    unread
)
SELECT
    :user_email,
    CASE
        WHEN EXISTS (
            SELECT 1 FROM kept_messages WHERE user_email = :user_email AND message_id = :message_id
        )
        THEN :substitute_id
        ELSE :message_id
    END,
    :thread_ids, :original, :sha256, :subject, :sender_name, :sender_email, :sent_at, :snippet, :folder, :folder = 'inbox'
ON CONFLICT DO NOTHING
RETURNING id
