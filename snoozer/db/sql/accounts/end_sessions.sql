-- End every session of this account and invalidate its mailed sign-in links.
WITH links AS (
    DELETE FROM sign_ins WHERE account_id = :account_id
)
DELETE FROM sessions
WHERE account_id = :account_id
RETURNING id
