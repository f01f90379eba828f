-- The account of who a person is at a provider.
SELECT account_id
FROM account_identities
WHERE issuer = :issuer
  AND subject = :subject
