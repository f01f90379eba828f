-- name: add
-- Enter a verified address of an account. Zero rows if it belongs to an account, or this one has `most` others. Call it
-- under accounts/lock_sign_in of the address.
INSERT INTO account_addresses (email, account_id)
SELECT :email, account.id
FROM (SELECT id FROM accounts WHERE id = :account_id FOR NO KEY UPDATE) AS account
WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.email = :email)
  AND (SELECT count(*) FROM account_addresses AS own WHERE own.account_id = account.id) < :most
ON CONFLICT DO NOTHING
RETURNING email

-- name: choose
-- Send a person's mail to this address of theirs from now on; to that of the account, if it is none of the others.
UPDATE account_addresses
SET gets_mail = email = :email
WHERE account_id = :account_id
  AND gets_mail IS DISTINCT FROM (email = :email)

-- name: list
-- A person's addresses, that of the account first, and since when one takes no mail.
SELECT
    own.email,
    own.is_main,
    own.email = chosen.email AS gets_mail,
    marked.since AS invalid_since
FROM (
    SELECT email, TRUE AS is_main, created_at AS verified_at FROM accounts WHERE id = :account_id
    UNION ALL
    SELECT email, FALSE, verified_at FROM account_addresses WHERE account_id = :account_id
) AS own
CROSS JOIN (SELECT snooze_recipient(accounts.email) AS email FROM accounts WHERE id = :account_id) AS chosen
LEFT JOIN pauses AS marked ON marked.kind = 'invalid' AND marked.value = own.email AND marked.ended_at IS NULL
ORDER BY own.is_main DESC, own.verified_at, own.email

-- name: remove
-- Forget an address of this account.
DELETE FROM account_addresses
WHERE email = :email
  AND account_id = :account_id
RETURNING email

-- name: request_code
-- Create a code that verifies an address for an account, at most max_per_hour within the hour to one address, and for one
-- account. Its token is of no use. Call it under accounts/lock_sign_in of the address.
INSERT INTO sign_ins (account_id, address, email_hash, token_hash, code_hash, browser_hash, expires_at)
SELECT :account_id, :email, :email_hash, :token_hash, :code_hash, :browser_hash, clock_timestamp() + :lifetime
WHERE (
    SELECT count(*)
    FROM sign_ins
    WHERE sign_ins.email_hash = :email_hash
      AND sign_ins.created_at > clock_timestamp() - INTERVAL '1 hour'
) < :max_per_hour
  AND (
    SELECT count(*)
    FROM sign_ins
    WHERE sign_ins.account_id = :account_id
      AND sign_ins.address IS NOT NULL
      AND sign_ins.created_at > clock_timestamp() - INTERVAL '1 hour'
) < :max_per_hour
RETURNING account_id
