-- The same for the ledger and for what is over.
VACUUM ANALYZE reminder_sends, email_snoozes_archive, reminder_sends_archive
