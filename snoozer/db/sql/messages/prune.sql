-- Forget messages of connected mailboxes that have been where they should be for a month and that no snooze returns.
DELETE FROM messages
WHERE id IN (
    SELECT id
    FROM messages
    WHERE mailbox_id IS NOT NULL
      AND place IN ('home', 'aside')
      AND wanted = place
      AND moving_to IS NULL
      AND returns_at IS NULL
      AND updated_at < CURRENT_TIMESTAMP - INTERVAL '30 days'
    ORDER BY id
    LIMIT :batch_size
)
RETURNING id
