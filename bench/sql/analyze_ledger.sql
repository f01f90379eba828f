-- The same for the ledger and the archives.
VACUUM ANALYZE reminder_sends, email_snoozes_archive, reminder_sends_archive
