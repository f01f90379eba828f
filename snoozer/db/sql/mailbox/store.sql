-- Keep a message byte for byte. One that claims a Message-ID which other bytes have gets a stand-in;
-- no row comes back when that Message-ID was taken at this very moment, and asking again then helps.
INSERT INTO kept_messages (
    user_email, message_id, original, sha256, subject, sender_name, sender_email, sent_at
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
    :original, :sha256, :subject, :sender_name, :sender_email, :sent_at
ON CONFLICT DO NOTHING
RETURNING id
