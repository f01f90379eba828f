-- name: add_identity
-- Let a person at a provider sign in to an account. No row if another identity of this provider can already.
INSERT INTO account_identities (issuer, subject, account_id)
SELECT :issuer, :subject, :account_id
WHERE NOT EXISTS (
    SELECT 1 FROM account_identities WHERE account_id = :account_id AND issuer = :issuer
)
ON CONFLICT (issuer, subject) DO NOTHING
RETURNING account_id

-- name: change_mail_key
-- Give an account another key: mail to its former addresses is refused from now on.
UPDATE accounts
SET mail_key = DEFAULT
WHERE id = :id

-- name: clear_presets
-- Delete the person's own presets; the language's defaults are offered again.
DELETE FROM account_presets
WHERE account_id = :account_id

-- name: close
-- Close an account: sign-ins and its tokens are refused. No row if the account does not exist.
UPDATE accounts AS account
SET disabled_at = COALESCE(account.disabled_at, clock_timestamp())
FROM accounts AS before
WHERE account.email = :email
  AND before.id = account.id
RETURNING account.id, account.email, before.disabled_at IS NULL AS changed

-- name: close_session
-- End one session.
DELETE FROM sessions
WHERE token_hash = :token_hash
RETURNING account_id

-- name: confirm_session
-- Record that the person of this session confirmed their identity again.
UPDATE sessions
SET confirmed_at = clock_timestamp()
WHERE token_hash = :token_hash
  AND account_id = :account_id
RETURNING id

-- name: create
-- Create an account for an address that the operator vouches for. For an existing account only the role changes.
WITH before AS (
    SELECT role, disabled_at FROM accounts WHERE email = :email
)
INSERT INTO accounts AS account (email, role, zone, verified_at)
VALUES (:email, COALESCE(:role, 'user'), :zone, clock_timestamp())
ON CONFLICT (email) DO UPDATE
SET role = COALESCE(:role, account.role),
    verified_at = COALESCE(account.verified_at, clock_timestamp())
RETURNING
    id,
    email,
    role,
    xmax = 0 AS created,
    (SELECT before.role FROM before) AS role_before,
    (SELECT before.disabled_at FROM before) IS NOT NULL AS closed

-- name: end_group_roles
-- End up to batch_size roles that groups gave longer than a lifetime ago. Returns their accounts and the roles.
WITH past AS MATERIALIZED (
    SELECT id, group_role AS role_before
    FROM accounts
    WHERE group_role IS NOT NULL
      AND group_role_at < clock_timestamp() - CAST(:lifetime AS interval)
    ORDER BY id
    LIMIT :batch_size
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE accounts
SET group_role = NULL,
    group_role_at = NULL
FROM past
WHERE accounts.id = past.id
RETURNING accounts.id, past.role_before

-- name: end_session
-- End one session of this account.
DELETE FROM sessions
WHERE id = :id
  AND account_id = :account_id
RETURNING id

-- name: end_sessions
-- End every session of this account and invalidate its mailed sign-in links.
WITH links AS (
    DELETE FROM sign_ins WHERE account_id = :account_id
)
DELETE FROM sessions
WHERE account_id = :account_id
RETURNING id

-- name: has_admin
-- Whether an open account was given the role admin (other than by groups), and its owner has not asked for its
-- deletion.
SELECT EXISTS (
    SELECT 1
    FROM accounts
    WHERE role = 'admin'
      AND disabled_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM account_deletions WHERE account_deletions.account_id = accounts.id)
) AS found

-- name: has_any
-- Whether there is an account, open or closed.
SELECT EXISTS (SELECT 1 FROM accounts) AS found

-- name: identity_owner
-- The account of a person's identity at a provider.
SELECT account_id
FROM account_identities
WHERE issuer = :issuer
  AND subject = :subject

-- name: list_sessions
-- The browsers in which a person is signed in, this one first.
SELECT
    id,
    device,
    created_at,
    seen_at,
    token_hash = :token_hash AS is_current
FROM sessions
WHERE account_id = :account_id
  AND expires_at > clock_timestamp()
  AND seen_at > clock_timestamp() - INTERVAL '14 days'
ORDER BY is_current DESC, seen_at DESC, id DESC
LIMIT :max_sessions

-- name: lock_response
-- Serialize requests with the same idempotency key.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', CAST(:account_id AS text), CAST(:key AS text)), 7266838))

-- name: lock_roles
-- Serialize changes of roles, so that two admins do not take the role from each other at once.
SELECT pg_advisory_xact_lock(7266851)

-- name: lock_sign_in
-- Serialize requests for a sign-in link to one address, whether it has an account or not.
SELECT pg_advisory_xact_lock(hashtextextended(:email, 7266839))

-- name: open_session
-- Open a session, and end the session that it replaces in the same browser. Following a mailed link verifies the
-- address. The session is confirmed only if the person showed just now who they are.
WITH verified AS (
    UPDATE accounts
    SET verified_at = COALESCE(verified_at, clock_timestamp()),
        signed_in_at = clock_timestamp()
    WHERE id = :account_id
      AND disabled_at IS NULL
    RETURNING id
),
replaced AS (
    DELETE FROM sessions
    WHERE token_hash = CAST(:replaced_hash AS text)
      AND EXISTS (SELECT FROM verified)
)
INSERT INTO sessions (account_id, token_hash, device, confirmed_at, expires_at)
SELECT
    id,
    :token_hash,
    :device,
    CASE WHEN CAST(:confirmed AS boolean) THEN clock_timestamp() END,
    clock_timestamp() + :lifetime
FROM verified
RETURNING account_id

-- name: remove_identities
-- End the sign-ins of an account at providers, until the next person there who has its address, and what groups gave.
WITH removed AS (
    DELETE FROM account_identities
    WHERE account_id = :account_id
    RETURNING issuer
),
without_role AS (
    UPDATE accounts SET group_role = NULL, group_role_at = NULL WHERE id = :account_id
)
SELECT issuer FROM removed

-- name: reopen
-- Open a closed account again; its tokens are accepted again. No row if the account does not exist or is being deleted.
UPDATE accounts AS account
SET disabled_at = NULL
FROM accounts AS before
WHERE account.email = :email
  AND NOT EXISTS (
      SELECT 1 FROM account_deletions WHERE account_id = account.id AND begun_at IS NOT NULL
  )
  AND before.id = account.id
RETURNING account.id, account.email, before.disabled_at IS NOT NULL AS changed

-- name: request_sign_in
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

-- name: save_phrase
-- Save a typed phrase, newest by used_at, and keep only the newest max_phrases.
WITH pruned AS (
    DELETE FROM account_phrases
    WHERE account_id = :account_id
      AND phrase <> :phrase
      AND phrase NOT IN (
          SELECT phrase
          FROM account_phrases
          WHERE account_id = :account_id
            AND phrase <> :phrase
          ORDER BY used_at DESC
          LIMIT :max_phrases - 1
      )
)
INSERT INTO account_phrases (account_id, phrase)
VALUES (:account_id, :phrase)
ON CONFLICT (account_id, phrase) DO UPDATE
SET used_at = clock_timestamp()

-- name: save_presets
-- Save the person's own presets in their order.
INSERT INTO account_presets AS preset (account_id, position, label, phrase)
SELECT :account_id, own.position, own.label, own.phrase
FROM unnest(CAST(:labels AS text[]), CAST(:phrases AS text[])) WITH ORDINALITY AS own (label, phrase, position)
ON CONFLICT (account_id, position) DO UPDATE
SET label = EXCLUDED.label,
    phrase = EXCLUDED.phrase

-- name: save_response
-- Save the first response to an idempotency key. Returns no row when another request was first.
INSERT INTO idempotency_keys (account_id, key, request_sha256, status, body)
VALUES (:account_id, :key, :request_sha256, :status, :body)
ON CONFLICT (account_id, key) DO NOTHING
RETURNING key

-- name: saved_response
-- The response saved for an idempotency key; deleted after a day.
SELECT request_sha256, status, body
FROM idempotency_keys
WHERE account_id = :account_id
  AND key = :key

-- name: session_is_confirmed
-- Whether the person of a session confirmed their identity a short while ago.
SELECT confirmed_at > clock_timestamp() - :within AS confirmed
FROM sessions
WHERE token_hash = :token_hash

-- name: session_owner
-- The account of an unexpired session; a session that is idle for :idle_for is expired.
SELECT account_id
FROM sessions
JOIN accounts ON accounts.id = sessions.account_id
WHERE token_hash = :token_hash
  AND expires_at > clock_timestamp()
  AND seen_at > clock_timestamp() - CAST(:idle_for AS interval)
  AND accounts.disabled_at IS NULL

-- name: set_first_locale
-- Set the browser's language and customs until the person has chosen a zone and a locale.
UPDATE accounts
SET locale = :locale
WHERE id = :id
  AND NOT zone_chosen
RETURNING id

-- name: set_first_zone
-- Set the browser's zone until the person has chosen one.
UPDATE accounts
SET zone = :zone,
    zone_chosen = TRUE
WHERE id = :id
  AND NOT zone_chosen
RETURNING id

-- name: set_group_role
-- Set the role that an account's groups give it, and the time. Returns the role that they gave before.
UPDATE accounts AS account
SET group_role = CAST(:role AS text),
    group_role_at = clock_timestamp()
FROM accounts AS before
WHERE account.id = :id
  AND before.id = account.id
RETURNING before.group_role AS role_before

-- name: set_preferences
-- Set the person's zone and locale.
UPDATE accounts
SET zone = :zone,
    locale = :locale,
    zone_chosen = TRUE
WHERE id = :id
RETURNING id

-- name: set_role
-- Give an account a role; the role that its groups give stays. No row if the account does not exist.
UPDATE accounts AS account
SET role = :role
FROM accounts AS before
WHERE account.id = :id
  AND before.id = account.id
RETURNING account.id, account.email, before.role AS role_before, account.role

-- name: sign_in_link
-- The state of a sign-in link in this browser, without using it.
SELECT
    used_at IS NOT NULL AS used,
    expires_at <= clock_timestamp() AS expired,
    browser_hash IS NULL OR browser_hash = COALESCE(CAST(:browser_hash AS text), '') AS this_browser
FROM sign_ins
WHERE token_hash = :token_hash

-- name: touch_session
-- Record that a session was used; written at most once an hour.
UPDATE sessions
SET seen_at = clock_timestamp()
WHERE token_hash = :token_hash
  AND seen_at < clock_timestamp() - INTERVAL '1 hour'

-- name: try_code
-- Try a typed code in the browser that requested it: to sign in, or to verify an address. Five tries in all; each one
-- counts before it is compared.
UPDATE sign_ins
SET code_tries = code_tries + 1,
    used_at = CASE WHEN code_hash = :code_hash THEN clock_timestamp() END
WHERE id = (
    SELECT id
    FROM sign_ins
    WHERE browser_hash = :browser_hash
      AND address IS NOT DISTINCT FROM CAST(:address AS text)
      AND used_at IS NULL
      AND expires_at > clock_timestamp()
      AND code_tries < 5
    ORDER BY id DESC
    LIMIT 1
    FOR UPDATE
)
RETURNING CASE WHEN used_at IS NOT NULL THEN account_id END AS account_id

-- name: use_link
-- Use a sign-in link, once, in the browser that requested it.
UPDATE sign_ins
SET used_at = clock_timestamp()
WHERE token_hash = :token_hash
  AND used_at IS NULL
  AND expires_at > clock_timestamp()
  AND (browser_hash IS NULL OR browser_hash = :browser_hash)
RETURNING account_id
