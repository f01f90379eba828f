-- Switch an endpoint off, for a reason; no delivery is entered or tried for it any more. With `account_id` its owner
-- acts, even on an endpoint that is off already; otherwise a mail to the owner is due.
UPDATE webhook_endpoints
SET is_on = FALSE,
    off_reason = :reason,
    off_at = clock_timestamp(),
    notice_at = CASE WHEN CAST(:account_id AS bigint) IS NULL THEN clock_timestamp() END
WHERE id = :id
  AND (is_on OR CAST(:account_id AS bigint) IS NOT NULL)
  AND (CAST(:account_id AS bigint) IS NULL OR account_id = :account_id)
RETURNING id
