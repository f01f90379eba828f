-- Record a search for an uncertain reminder in the connected mailbox of its recipient: a reminder that is found was
-- sent. A miss is counted only after the hold. A search by a former owner of the mailbox changes nothing.
UPDATE reminder_sends AS send
SET state = CASE WHEN :found THEN 'sent' ELSE 'uncertain' END,
    sent_at = CASE WHEN :found THEN clock_timestamp() END,
    resolution = CASE WHEN :found THEN 'verified' ELSE send.resolution END,
    resolved_by = CASE WHEN :found THEN 'mailbox' ELSE send.resolved_by END,
    resolved_at = CASE WHEN :found THEN clock_timestamp() ELSE send.resolved_at END,
    looks = send.looks + CASE WHEN send.uncertain_at <= clock_timestamp() - :hold THEN 1 ELSE 0 END,
    looked_at = clock_timestamp()
FROM mailboxes AS mailbox
WHERE send.id = :id
  AND send.state = 'uncertain'
  AND mailbox.id = :mailbox_id
  AND mailbox.fence = :fence
RETURNING send.id
