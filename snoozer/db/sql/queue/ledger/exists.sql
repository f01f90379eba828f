-- Which of these reminders the ledger knows.
SELECT reminder_message_id
FROM reminder_sends
WHERE reminder_message_id = ANY(:reminder_message_ids)
