-- Whether another account has connected this mailbox: two that move messages in it would undo each other's moves.
SELECT EXISTS (
    SELECT 1
    FROM mailboxes
    WHERE lower(host) = lower(:host)
      AND username = :username
      AND account_id <> :account_id
)
