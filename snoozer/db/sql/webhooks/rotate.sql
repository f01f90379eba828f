-- Sign with another secret from now on, and also with the present one for `overlap`. Zero rows if this person has no
-- such endpoint.
UPDATE webhook_endpoints
SET previous_secret = secret,
    previous_until = clock_timestamp() + :overlap,
    secret = :secret
WHERE id = :id
  AND account_id = :account_id
RETURNING id
