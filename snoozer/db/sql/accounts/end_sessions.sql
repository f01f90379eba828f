-- Every browser that is signed in to this account is signed out for good, and no mailed link signs in any more.
WITH links AS (
    DELETE FROM sign_ins WHERE account_id = :account_id
)
DELETE FROM sessions
WHERE account_id = :account_id
RETURNING id
