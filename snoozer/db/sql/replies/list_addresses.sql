-- The addresses of a person: of the account, and of each connected mailbox. Mail from them does not count as a reply.
SELECT lower(:user_email) AS address
UNION
SELECT lower(own.address)
FROM accounts AS account
JOIN mailboxes AS mailbox ON mailbox.account_id = account.id
CROSS JOIN LATERAL (VALUES (mailbox.address), (mailbox.username)) AS own (address)
WHERE account.email = :user_email
