-- Record that the inbox was read for replies up to this UID; NULL if no snooze waits for one any more.
UPDATE mailboxes
SET replies_uidvalidity = :uidvalidity,
    replies_uidnext = :uidnext,
    replies_read_at = CASE WHEN CAST(:uidnext AS bigint) IS NOT NULL THEN clock_timestamp() END
WHERE id = :mailbox_id
  AND fence = :fence
RETURNING id
