-- The account of a person's identity at a provider.
SELECT account_id
FROM account_identities
WHERE issuer = :issuer
  AND subject = :subject
