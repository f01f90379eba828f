-- Mailboxes that this process owns, and whether their accounts are closed; a missing mailbox is no longer its own. A
-- mailbox whose lease has ended remains its own until another process takes it.
SELECT mailbox.id, mailbox.fence, account.disabled_at IS NOT NULL AS is_closed
FROM mailboxes AS mailbox
JOIN accounts AS account ON account.id = mailbox.account_id
WHERE mailbox.owner = :owner
