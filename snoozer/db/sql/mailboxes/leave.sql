-- Begin to disconnect a mailbox: the process that watches it returns snoozed messages, then deletes it. Zero rows: this
-- person has no such mailbox.
UPDATE mailboxes
SET state = 'leaving',
    owner = NULL,
    owned_until = NULL,
    fence = fence + 1,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND account_id = :account_id
RETURNING id
