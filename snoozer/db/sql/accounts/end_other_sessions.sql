-- End every session of this account but one, and invalidate its mailed sign-in links.
WITH links AS (
    UPDATE sign_ins
    SET used_at = clock_timestamp()
    WHERE account_id = :account_id
      AND used_at IS NULL
)
DELETE FROM sessions
WHERE account_id = :account_id
  AND token_hash <> :token_hash
RETURNING id
