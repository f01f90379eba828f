-- Those who ask for a link to one address go one after another, whether it has an account or not.
SELECT pg_advisory_xact_lock(hashtextextended(:email, 7266839))
