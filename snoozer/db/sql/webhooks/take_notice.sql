-- Take the mail that tells an owner that an endpoint was switched off: it is due again after `lease`, unless it is
-- ended. It is tried for at most three days, and only for a verified address. Zero rows if none is due.
WITH due AS MATERIALIZED (
    SELECT endpoint.id, account.email, account.locale
    FROM webhook_endpoints AS endpoint
    JOIN accounts AS account ON account.id = endpoint.account_id
    WHERE endpoint.notice_at <= CURRENT_TIMESTAMP
      AND endpoint.off_at > CURRENT_TIMESTAMP - INTERVAL '3 days'
      AND account.disabled_at IS NULL
      AND account.verified_at IS NOT NULL
    ORDER BY endpoint.notice_at, endpoint.id
    LIMIT 1
    FOR NO KEY UPDATE OF endpoint SKIP LOCKED
)
UPDATE webhook_endpoints AS endpoint
SET notice_at = clock_timestamp() + :lease
FROM due
WHERE endpoint.id = due.id
RETURNING endpoint.id, endpoint.off_reason, endpoint.off_at, endpoint.notice_at, due.email, due.locale
