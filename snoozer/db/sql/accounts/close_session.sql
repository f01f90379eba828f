-- End one session.
DELETE FROM sessions
WHERE token_hash = :token_hash
RETURNING account_id
