-- Let a person at a provider sign in to an account. No row if another identity of this provider can already.
INSERT INTO account_identities (issuer, subject, account_id)
SELECT :issuer, :subject, :account_id
WHERE NOT EXISTS (
    SELECT 1 FROM account_identities WHERE account_id = :account_id AND issuer = :issuer
)
ON CONFLICT (issuer, subject) DO NOTHING
RETURNING account_id
