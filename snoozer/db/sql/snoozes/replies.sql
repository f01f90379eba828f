-- name: list_addresses
-- The addresses of a person: of the account, the other verified ones, and of each connected mailbox. Mail from them does
-- not count as a reply.
SELECT lower(:user_email) AS address
UNION
SELECT own.email
FROM accounts AS account
JOIN account_addresses AS own ON own.account_id = account.id
WHERE account.email = :user_email
UNION
SELECT lower(own.address)
FROM accounts AS account
JOIN mailboxes AS mailbox ON mailbox.account_id = account.id
CROSS JOIN LATERAL (VALUES (mailbox.address), (mailbox.username)) AS own (address)
WHERE account.email = :user_email

-- name: list_waiting
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
      OR EXISTS (
          SELECT 1
          FROM reminder_sends AS send
          WHERE send.user_email = account.email
            AND send.state = 'uncertain'
            AND send.channel = 'email'
            AND lower(mailbox.address) = COALESCE(send.recipient, account.email)
      )
  )

-- name: lock_awaiting
-- A person's snoozes that wait for a reply before their time, and to which a given message replies:
-- each names `named`, arrived at `arrived_at`, and is itself `own`. Locked in the order of their ids, with the first
-- arrival. A thread consists of the snoozed message and the messages that its header names; the last of its ids is the
-- snoozed message's own as it came, even if it is not well formed. A reply to any message of a snoozed conversation counts.
-- Clocks of servers may differ by seconds, so an arrival shortly before the snooze counts.
WITH answer AS MATERIALIZED (
    SELECT *
    FROM unnest(CAST(:named AS text[]), CAST(:own AS text[]), CAST(:arrived_at AS timestamptz[]))
        AS one (named, own, arrived_at)
),
answered AS MATERIALIZED (
    SELECT snooze.id, min(answer.arrived_at) AS arrived_at
    FROM email_snoozes AS snooze
    LEFT JOIN messages AS kept
        ON kept.user_email = snooze.user_email AND kept.message_id = snooze.message_id AND kept.is_kept
    LEFT JOIN messages AS message
        ON message.snooze_id = snooze.id
        AND NOT message.is_kept
    CROSS JOIN LATERAL (
        SELECT string_to_array(COALESCE(message.thread_ids, kept.thread_ids), ' ')
    ) AS thread(ids)
    JOIN answer
        ON answer.named IN (snooze.message_id, message.header_id, thread.ids[array_upper(thread.ids, 1)])
        OR (snooze.reply_scope = 'thread' AND answer.named = ANY(thread.ids))
    WHERE snooze.user_email = :user_email
      AND NOT snooze.inactive
      AND snooze.reply_policy IN ('cancel_on_reply', 'until_reply')
      AND answer.own IS DISTINCT FROM snooze.message_id
      AND NOT EXISTS (
          SELECT 1
          FROM messages AS own
          WHERE own.snooze_id = snooze.id
            AND own.header_id = answer.own
      )
      AND answer.own IS DISTINCT FROM COALESCE(thread.ids[array_upper(thread.ids, 1)], message.header_id)
      AND answer.arrived_at >= COALESCE(snooze.reply_since, snooze.created_at) - INTERVAL '10 seconds'
    GROUP BY snooze.id
)
SELECT
    snooze.id,
    snooze.message_id,
    snooze.reply_policy AS policy,
    snooze_promise(snooze) AS promise,
    snooze.recurrence,
    snooze.zone,
    answered.arrived_at
FROM answered
JOIN email_snoozes AS snooze ON snooze.id = answered.id
WHERE NOT snooze.inactive
  AND snooze.reply_policy IN ('cancel_on_reply', 'until_reply')
  AND snooze_promise(snooze) > clock_timestamp()
ORDER BY snooze.id
FOR NO KEY UPDATE OF snooze

-- name: read_mark
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

-- name: save_mark
-- Record that the inbox was read for replies up to this UID; NULL if no snooze waits for one any more.
UPDATE mailboxes
SET replies_uidvalidity = :uidvalidity,
    replies_uidnext = :uidnext,
    replies_read_at = CASE WHEN CAST(:uidnext AS bigint) IS NOT NULL THEN clock_timestamp() END
WHERE id = :mailbox_id
  AND fence = :fence
RETURNING id
