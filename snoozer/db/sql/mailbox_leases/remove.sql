-- Delete a mailbox that its owner disconnected, once nothing of it lies in a folder of ours.
DELETE FROM mailboxes
WHERE id = :id
  AND fence = :fence
  AND state = 'leaving'
  AND NOT EXISTS (
      SELECT 1
      FROM messages
      WHERE mailbox_id = :id
        AND (place = 'snoozed' OR moving_to IS NOT NULL)
  )
RETURNING id
