-- Keep a message byte for byte, as new mail or at the place that it had elsewhere. A message whose Message-ID belongs
-- to other bytes gets a substitute id. A message that was asleep elsewhere is asleep here if a snooze of it is not
-- over. No row if a concurrent transaction has just taken that Message-ID; calling again then helps.
WITH kept AS (
    INSERT INTO messages (
        user_email, message_id, thread_ids, size, sha256, subject, sender_name, sender_email, sent_at, snippet, folder,
        unread, returned, arrived_at, surfaced_at, return_path
    )
    SELECT
        :user_email,
        CASE
            WHEN EXISTS (
                SELECT 1 FROM messages WHERE is_kept AND user_email = :user_email AND message_id = :message_id
            )
            THEN :substitute_id
            ELSE :message_id
        END,
        :thread_ids, octet_length(CAST(:original AS bytea)), :sha256, :subject, :sender_name, :sender_email, :sent_at,
        :snippet,
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
        :unread, :returned,
        LEAST(CAST(:arrived_at AS timestamptz), clock_timestamp()),
        LEAST(CAST(:surfaced_at AS timestamptz), clock_timestamp()),
        :return_path
    ON CONFLICT DO NOTHING
    RETURNING id
)
INSERT INTO message_originals (id, original)
SELECT id, :original
FROM kept
RETURNING id
