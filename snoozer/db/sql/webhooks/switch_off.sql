-- Switch an endpoint off, for a reason; nothing is entered or tried for it any more. With `account_id` by that person alone.
UPDATE webhook_endpoints
SET is_on = FALSE,
    off_reason = :reason,
    off_at = clock_timestamp()
WHERE id = :id
  AND is_on
  AND (CAST(:account_id AS bigint) IS NULL OR account_id = :account_id)
RETURNING id
