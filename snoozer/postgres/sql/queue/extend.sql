-- Lengthen the leases of the claims a worker still works on. A claim that was taken away is not lengthened:
-- its id is missing from the answer.
UPDATE email_snoozes
SET lease_expires_at = clock_timestamp() + :lease
WHERE id = ANY(:ids)
  AND claimed_by = :worker
RETURNING id
