-- Try a typed code in the browser that requested it. Five tries in all; each one counts before it is compared.
UPDATE sign_ins
SET code_tries = code_tries + 1,
    used_at = CASE WHEN code_hash = :code_hash THEN clock_timestamp() END
WHERE id = (
    SELECT id
    FROM sign_ins
    WHERE browser_hash = :browser_hash
      AND used_at IS NULL
      AND expires_at > clock_timestamp()
      AND code_tries < 5
    ORDER BY id DESC
    LIMIT 1
    FOR UPDATE
)
RETURNING CASE WHEN used_at IS NOT NULL THEN account_id END AS account_id
