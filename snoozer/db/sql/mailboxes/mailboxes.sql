-- name: change_secret
-- Replace a mailbox's password or refresh token, which ends its pause and clears its problem; a mailbox that is leaving
-- goes on leaving. The process that owns it loses it, and a process takes it again with the new secret. Zero rows: this
-- person has no such mailbox.
UPDATE mailboxes
SET login_method = :login_method,
    secret = :secret,
    state = CASE state WHEN 'leaving' THEN 'leaving' ELSE 'active' END,
    problem = NULL,
    problem_since = NULL,
    owner = NULL,
    owned_until = NULL,
    fence = fence + 1,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND account_id = :account_id
RETURNING id

-- name: choose
-- Change the owner's choices for a mailbox. The process that owns it loses it, and a process takes it again; if the
-- snooze flag changed, that process notes again which messages carry it. Zero rows: this person has no such mailbox.
UPDATE mailboxes
SET brings_back = :brings_back,
    reads_asleep = :reads_asleep,
    snooze_flag = :snooze_flag,
    snooze_flag_time = :snooze_flag_time,
    flagged_noted_at = CASE
        WHEN snooze_flag IS NOT DISTINCT FROM CAST(:snooze_flag AS text) THEN flagged_noted_at
    END,
    flagged_uidvalidity = CASE
        WHEN snooze_flag IS NOT DISTINCT FROM CAST(:snooze_flag AS text) THEN flagged_uidvalidity
    END,
    owner = NULL,
    owned_until = NULL,
    fence = fence + 1,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND account_id = :account_id
RETURNING id

-- name: connect
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

-- name: forget
-- Forget a mailbox that is being disconnected, without waiting for its server: its snoozed messages stay in their
-- present folder, and their reminders go out. Zero rows: this person has no such mailbox, or it is not being
-- disconnected.
DELETE FROM mailboxes
WHERE id = :id
  AND account_id = :account_id
  AND state = 'leaving'
RETURNING id

-- name: is_taken
-- Whether another account has connected this mailbox: two that move messages in it would undo each other's moves.
SELECT EXISTS (
    SELECT 1
    FROM mailboxes
    WHERE lower(host) = lower(:host)
      AND username = :username
      AND account_id <> :account_id
)

-- name: leave
-- Begin to disconnect a mailbox: the process that watches it returns snoozed messages, then deletes it. Zero rows: this
-- person has no such mailbox.
UPDATE mailboxes
SET state = 'leaving',
    owner = NULL,
    owned_until = NULL,
    fence = fence + 1,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND account_id = :account_id
RETURNING id

-- name: lock_owner
-- Lock an account that is open, so that one transaction at a time counts and connects its mailboxes. Returns its id;
-- zero rows if it is closed.
SELECT id
FROM accounts
WHERE id = :account_id
  AND disabled_at IS NULL
FOR NO KEY UPDATE

-- name: replace_secret
-- Replace a mailbox's password by the same one under a newer key, or a refresh token by its successor from the
-- provider. Zero rows: it was changed since it was read, and stays.
UPDATE mailboxes
SET secret = :secret
WHERE id = :id
  AND secret = :known
RETURNING id
