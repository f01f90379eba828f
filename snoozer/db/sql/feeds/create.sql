-- Add a feed for a person, whose account is locked. Returns its id; zero rows if the account has `most`.
INSERT INTO feeds (account_id, kind, name, shows_subject, secret_hash)
SELECT :account_id, :kind, :label, :shows_subject, :secret_hash
WHERE (SELECT count(*) FROM feeds WHERE account_id = :account_id) < :most
RETURNING id
