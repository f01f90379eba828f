-- A sign-in link for an account that may sign in, unless it has asked too often within the hour.
INSERT INTO sign_ins (account_id, token_hash, code_hash, browser_hash, expires_at)
SELECT account.id, :token_hash, :code_hash, :browser_hash, clock_timestamp() + :lifetime
FROM accounts AS account
WHERE account.email = :email
  AND account.disabled_at IS NULL
  AND (
      CAST(:browser_hash AS text) IS NULL
      OR (
          SELECT count(*)
          FROM sign_ins
          WHERE sign_ins.account_id = account.id
            AND sign_ins.browser_hash IS NOT NULL
            AND sign_ins.created_at > clock_timestamp() - INTERVAL '1 hour'
      ) < :most_an_hour
  )
RETURNING id
