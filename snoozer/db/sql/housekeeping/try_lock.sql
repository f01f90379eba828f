-- Only one clock does a chore at a time; the lock ends with the transaction, also behind a pooler.
SELECT pg_try_advisory_xact_lock(hashtextextended(:chore, 7266837)) AS acquired
