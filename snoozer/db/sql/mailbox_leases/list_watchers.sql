-- The processes that have reported and have not ended in order.
SELECT id
FROM mailbox_watchers
