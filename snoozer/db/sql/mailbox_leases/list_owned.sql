-- What this process owns, with what its owner may have changed; what is missing is no longer its own. One whose lease has
-- ended is still its own while no other process took it.
SELECT mailbox.id, mailbox.fence, account.disabled_at IS NOT NULL AS is_closed
FROM mailboxes AS mailbox
JOIN accounts AS account ON account.id = mailbox.account_id
WHERE mailbox.owner = :owner
