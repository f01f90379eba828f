-- Serialize making the pair of keys that signs pushes.
SELECT pg_advisory_xact_lock(7266850)
