-- Record that a message was sent, after it was.
INSERT INTO naive_sends (message_id, remind_at) VALUES (:message_id, :remind_at) ON CONFLICT DO NOTHING
