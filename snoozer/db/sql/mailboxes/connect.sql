-- Connect a mailbox, or reconnect a mailbox known by its server and user name, even a paused or leaving one. Returns
-- its id; zero rows if the account has `most` others.
INSERT INTO mailboxes (account_id, address, host, port, security, username, login_method, secret)
SELECT :account_id, :address, :host, :port, :security, :username, :login_method, :secret
WHERE (
    SELECT count(*)
    FROM mailboxes
    WHERE account_id = :account_id
      AND (host, username) <> (:host, :username)
) < :most
ON CONFLICT ON CONSTRAINT uq_mailboxes_login DO UPDATE
SET address = EXCLUDED.address,
    port = EXCLUDED.port,
    security = EXCLUDED.security,
    login_method = EXCLUDED.login_method,
    secret = EXCLUDED.secret,
    state = 'active',
    problem = NULL,
    problem_since = NULL,
    owner = NULL,
    owned_until = NULL,
    fence = mailboxes.fence + 1,
    updated_at = CURRENT_TIMESTAMP
RETURNING id
