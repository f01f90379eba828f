-- Whether a person's mailboxes are still being disconnected.
SELECT EXISTS (SELECT 1 FROM mailboxes WHERE account_id = :account_id)
