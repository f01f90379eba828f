-- Serialize changes of roles, so that two admins do not take the role from each other at once.
SELECT pg_advisory_xact_lock(7266851)
