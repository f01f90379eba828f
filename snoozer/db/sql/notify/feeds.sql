-- name: create
-- Add a feed for a person, whose account is locked. Returns its id; zero rows if the account has `most`.
INSERT INTO feeds (account_id, kind, name, shows_subject, secret_hash)
SELECT :account_id, :kind, :label, :shows_subject, :secret_hash
WHERE (SELECT count(*) FROM feeds WHERE account_id = :account_id) < :most
RETURNING id

-- name: find
-- The feed of a secret, and its owner; zero rows for a closed account.
SELECT feed.id, feed.shows_subject, feed.created_at, account.email, account.locale
FROM feeds AS feed
JOIN accounts AS account ON account.id = feed.account_id
WHERE feed.secret_hash = :secret_hash
  AND feed.kind = :kind
  AND account.disabled_at IS NULL

-- name: revoke
-- Delete a person's feed: its URL stops working. Zero rows if this person has no such feed.
DELETE FROM feeds
WHERE id = :id
  AND account_id = :account_id
RETURNING id

-- name: touch
-- Record that a feed was read; written at most once an hour.
UPDATE feeds
SET used_at = clock_timestamp()
WHERE id = :id
  AND COALESCE(used_at, '-infinity') < clock_timestamp() - INTERVAL '1 hour'
