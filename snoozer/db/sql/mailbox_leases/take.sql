-- Take mailboxes that no process owns any more, up to an even share of all mailboxes: their lease has ended, or their
-- process has been silent for `silence`. Paused mailboxes are left alone for `retry`. Each change of owners raises the
-- fence, so that later writes of the former owner do not match it.
WITH alive AS MATERIALIZED (
    SELECT id
    FROM mailbox_watchers
    WHERE seen_at > clock_timestamp() - :silence
),
share AS (
    SELECT
        ceil(count(*)::numeric / (SELECT GREATEST(count(*), 1) FROM alive)) AS fair,
        count(*) FILTER (WHERE owner = :owner) AS own
    FROM mailboxes
),
free AS MATERIALIZED (
    SELECT mailbox.id, account.email, account.disabled_at IS NOT NULL AS is_closed
    FROM mailboxes AS mailbox
    JOIN accounts AS account ON account.id = mailbox.account_id
    WHERE (
        mailbox.owner IS NULL
        OR mailbox.owned_until <= clock_timestamp()
        OR mailbox.owner NOT IN (SELECT id FROM alive)
    )
      AND (mailbox.state <> 'paused' OR mailbox.tried_at <= clock_timestamp() - :retry)
    ORDER BY mailbox.id
    LIMIT (SELECT GREATEST(fair - own, 0) FROM share)
    FOR NO KEY UPDATE OF mailbox SKIP LOCKED
)
UPDATE mailboxes AS mailbox
SET owner = :owner,
    owned_until = clock_timestamp() + :lease,
    fence = fence + 1
FROM free
WHERE mailbox.id = free.id
RETURNING
    mailbox.id, mailbox.fence, mailbox.host, mailbox.port, mailbox.security, mailbox.username, mailbox.secret,
    mailbox.login_method, mailbox.state, mailbox.address, mailbox.brings_back, mailbox.snooze_flag,
    mailbox.snooze_flag_time, mailbox.account_id, free.email AS user_email, free.is_closed
