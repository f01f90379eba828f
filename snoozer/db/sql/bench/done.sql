-- How many reminders the mail server has taken.
SELECT count(*) FROM reminder_sends WHERE state = 'sent'
