-- Whether an open account was given the role admin, whatever groups say.
SELECT EXISTS (SELECT 1 FROM accounts WHERE role = 'admin' AND disabled_at IS NULL) AS found
