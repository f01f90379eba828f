-- Choose which events an endpoint of a person gets, and whether with the subject. Deliveries entered before stay as
-- they are. Zero rows if this person has no such endpoint.
UPDATE webhook_endpoints
SET events = CAST(:events AS text[]),
    shows_subject = :shows_subject
WHERE id = :id
  AND account_id = :account_id
RETURNING id
