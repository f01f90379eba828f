-- Reminders that went to the address of this connected mailbox, may have been sent, and were not searched for lately.
SELECT send.id, send.snooze_id, send.reminder_message_id, send.dot_authorised_at AS sent_about
FROM reminder_sends AS send
JOIN accounts AS account ON account.email = send.user_email
JOIN mailboxes AS mailbox ON mailbox.account_id = account.id
WHERE send.state = 'uncertain'
  AND send.channel = 'email'
  AND mailbox.id = :mailbox_id
  AND lower(mailbox.address) = COALESCE(send.recipient, account.email)
  AND (send.looked_at IS NULL OR send.looked_at < clock_timestamp() - :lookup_interval)
ORDER BY send.id
LIMIT :batch_size
