-- Whether this message was sent for this time.
SELECT EXISTS (SELECT 1 FROM naive_sends WHERE message_id = :message_id AND remind_at = :remind_at)
