-- Create a sign-in for an address, at most max_per_hour within the hour. A browser that signed in to this account
-- before is counted separately; all others share one count. An address without an open account gets a sign-in that
-- cannot be used, so that its tries take as long; only a console (no browser) gets none. Call it under lock_sign_in.
INSERT INTO sign_ins (account_id, email_hash, token_hash, code_hash, browser_hash, known_hash, expires_at)
SELECT account.id, :email_hash, :token_hash, :code_hash, :browser_hash, :known_hash, clock_timestamp() + :lifetime
FROM (VALUES (CAST(:email AS text))) AS requested (email)
LEFT JOIN accounts AS account ON account.email = requested.email AND account.disabled_at IS NULL
WHERE CASE
    WHEN CAST(:browser_hash AS text) IS NULL THEN account.id IS NOT NULL
    ELSE (
        SELECT count(*)
        FROM sign_ins
        WHERE sign_ins.email_hash = :email_hash
          AND sign_ins.browser_hash IS NOT NULL
          AND sign_ins.known_hash IS NOT DISTINCT FROM CAST(:known_hash AS text)
          AND sign_ins.created_at > clock_timestamp() - INTERVAL '1 hour'
    ) < :max_per_hour
END
RETURNING account_id
