-- Lengthen the leases of the claims a worker still works on. A claim that was taken away is not lengthened:
-- its id is missing from the answer.
UPDATE email_snoozes AS snooze
SET lease_expires_at = clock_timestamp() + :lease
FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS held (id, claim_token)
WHERE snooze.id = held.id
  AND snooze.claim_token = held.claim_token
RETURNING snooze.id
