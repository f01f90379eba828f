-- Let one clock at a time run a chore; the lock ends with the transaction, also behind a pooler.
SELECT pg_try_advisory_xact_lock(hashtextextended(:chore, 7266837)) AS acquired
