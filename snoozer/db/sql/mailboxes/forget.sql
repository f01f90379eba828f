-- Forget a mailbox that is being disconnected, without waiting for its server: its snoozed messages stay in the folder
-- where they are, and their reminders go out. Zero rows: this person has no such mailbox, or it is not being
-- disconnected.
DELETE FROM mailboxes
WHERE id = :id
  AND account_id = :account_id
  AND state = 'leaving'
RETURNING id
