-- End one session of this account.
DELETE FROM sessions
WHERE id = :id
  AND account_id = :account_id
RETURNING id
