-- Outcomes of messages: `gone` has no row, `sent` and `retired` are finished; messages still alive are left out.
SELECT asked.message_id, CASE WHEN snooze.id IS NULL THEN 'gone' ELSE snooze.outcome END AS outcome
FROM unnest(CAST(:message_ids AS text[])) AS asked (message_id)
LEFT JOIN email_snoozes AS snooze ON snooze.message_id = asked.message_id
WHERE snooze.id IS NULL OR snooze.outcome IS NOT NULL
