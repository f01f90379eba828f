-- The same messages for the naive loop, due at the same time.
INSERT INTO naive_jobs (message_id, rcpt, subject, remind_at)
SELECT message.message_id, :rcpt, message.subject, :remind_at
FROM unnest(CAST(:message_ids AS text[]), CAST(:subjects AS text[])) AS message (message_id, subject)
