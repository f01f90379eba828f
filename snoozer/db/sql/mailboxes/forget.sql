-- Forget a mailbox that is being disconnected, without waiting for its server: what is snoozed in it stays in the folder
-- where it is, and its reminders go out. Zero rows: this person has no such mailbox, or it is not being disconnected.
DELETE FROM mailboxes
WHERE id = :id
  AND account_id = :account_id
  AND state = 'leaving'
RETURNING id
