-- The feed of a secret, and its owner; zero rows for a closed account.
SELECT feed.id, feed.shows_subject, feed.created_at, account.email, account.locale
FROM feeds AS feed
JOIN accounts AS account ON account.id = feed.account_id
WHERE feed.secret_hash = :secret_hash
  AND feed.kind = :kind
  AND account.disabled_at IS NULL
