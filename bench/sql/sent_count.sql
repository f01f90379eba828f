-- How many reminders the mail server has accepted.
SELECT count(*) FROM reminder_sends WHERE state = 'sent'
