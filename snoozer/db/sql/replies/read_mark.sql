-- Since when a snooze of the owner of this mailbox has been waiting for a reply, NULL while none does; and the UID up
-- to which its inbox was read.
SELECT
    (
        SELECT min(COALESCE(snooze.reply_since, snooze.created_at))
        FROM email_snoozes AS snooze
        WHERE snooze.user_email = account.email
          AND NOT snooze.inactive
          AND snooze.reply_policy IN ('cancel_on_reply', 'until_reply')
    ) AS since,
    mailbox.replies_uidvalidity AS uidvalidity,
    mailbox.replies_uidnext AS uidnext,
    mailbox.replies_read_at AS read_at
FROM mailboxes AS mailbox
JOIN accounts AS account ON account.id = mailbox.account_id
WHERE mailbox.id = :mailbox_id
