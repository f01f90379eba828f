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
