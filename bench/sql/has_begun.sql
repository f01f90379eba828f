-- Has a worker claimed anything?
SELECT EXISTS (SELECT FROM reminder_sends)
