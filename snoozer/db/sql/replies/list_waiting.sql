-- The mailboxes of this process in which mail is read: a snooze of their owner waits for a reply, or did until now; or a
-- reminder that may have been sent went there.
SELECT mailbox.id
FROM mailboxes AS mailbox
JOIN accounts AS account ON account.id = mailbox.account_id
WHERE mailbox.owner = :owner
  AND (
      mailbox.replies_uidnext IS NOT NULL
      OR EXISTS (
          SELECT 1
          FROM email_snoozes AS snooze
          WHERE snooze.user_email = account.email
            AND NOT snooze.inactive
            AND snooze.reply_policy IN ('cancel_on_reply', 'until_reply')
      )
      OR lower(mailbox.address) = account.email
      AND EXISTS (
          SELECT 1
          FROM reminder_sends AS send
          WHERE send.user_email = account.email
            AND send.state = 'uncertain'
            AND send.channel = 'email'
      )
  )
