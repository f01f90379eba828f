-- Switch an endpoint of a person on again: it gets events from now on. Zero rows if it is on, or not theirs.
UPDATE webhook_endpoints
SET is_on = TRUE,
    off_reason = NULL,
    off_at = NULL,
    notice_at = NULL,
    failures = 0,
    quiet_until = NULL
WHERE id = :id
  AND account_id = :account_id
  AND NOT is_on
RETURNING id
