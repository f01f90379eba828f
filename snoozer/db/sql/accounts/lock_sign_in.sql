-- Serialize requests for a sign-in link to one address, whether it has an account or not.
SELECT pg_advisory_xact_lock(hashtextextended(:email, 7266839))
