-- Choose which events an endpoint of a person's gets, and whether with the subject. What is entered already stays as it is.
-- Zero rows where this person has no such endpoint.
UPDATE webhook_endpoints
SET events = CAST(:events AS text[]),
    shows_subject = :shows_subject
WHERE id = :id
  AND account_id = :account_id
RETURNING id
