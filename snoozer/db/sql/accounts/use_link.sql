-- Use a sign-in link, once, in the browser that requested it.
UPDATE sign_ins
SET used_at = clock_timestamp()
WHERE token_hash = :token_hash
  AND used_at IS NULL
  AND expires_at > clock_timestamp()
  AND (browser_hash IS NULL OR browser_hash = :browser_hash)
RETURNING account_id
