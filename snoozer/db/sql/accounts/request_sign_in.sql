-- Create a sign-in link for an open account, at most max_per_hour within the hour. A browser that signed in to this
-- account before has a count of its own; all others share one. Called under lock_sign_in.
INSERT INTO sign_ins (account_id, token_hash, code_hash, browser_hash, known_hash, expires_at)
SELECT account.id, :token_hash, :code_hash, :browser_hash, :known_hash, clock_timestamp() + :lifetime
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
            AND sign_ins.known_hash IS NOT DISTINCT FROM CAST(:known_hash AS text)
            AND sign_ins.created_at > clock_timestamp() - INTERVAL '1 hour'
      ) < :max_per_hour
  )
RETURNING id
