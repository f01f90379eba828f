-- Outcomes of messages that are neither pending nor in work; a message without a row is `gone`.
SELECT asked.message_id, COALESCE(job.status, 'gone') AS outcome
FROM unnest(CAST(:message_ids AS text[])) AS asked (message_id)
LEFT JOIN naive_jobs AS job ON job.message_id = asked.message_id
WHERE job.id IS NULL OR job.status IN ('completed', 'dead')
