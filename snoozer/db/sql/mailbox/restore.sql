-- Keep a message byte for byte as it was kept elsewhere, at its place in its folder. One whose Message-ID belongs to other
-- bytes gets a substitute id. What was asleep is so only while a snooze of its message is not over.
-- Returns no row when a concurrent transaction has just taken that Message-ID; calling again then helps.
INSERT INTO kept_messages (
    user_email, message_id, thread_ids, original, sha256, subject, sender_name, sender_email, sent_at, snippet, folder,
    unread, returned, arrived_at, surfaced_at
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
    :thread_ids, :original, :sha256, :subject, :sender_name, :sender_email, :sent_at, :snippet,
    CASE
        WHEN :folder = 'snoozed'
        AND NOT EXISTS (
            SELECT 1
            FROM email_snoozes AS snooze
            WHERE snooze.user_email = :user_email
              AND snooze.message_id = :message_id
              AND snooze.outcome IS NULL
        )
        THEN 'inbox'
        ELSE :folder
    END,
    :unread, :returned, LEAST(:arrived_at, CURRENT_TIMESTAMP), LEAST(:surfaced_at, CURRENT_TIMESTAMP)
ON CONFLICT DO NOTHING
RETURNING id
