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
