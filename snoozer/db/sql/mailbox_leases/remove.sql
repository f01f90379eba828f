-- Delete a mailbox that its owner disconnected, once no message of it lies in a Snoozer folder.
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
