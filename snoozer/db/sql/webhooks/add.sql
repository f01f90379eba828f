-- Add an endpoint for a person who has fewer than `most`. Zero rows if there is no room, or the person has this URL.
INSERT INTO webhook_endpoints (account_id, url, events, shows_subject, secret)
SELECT :account_id, :url, CAST(:events AS text[]), :shows_subject, :secret
WHERE (
    SELECT count(*)
    FROM webhook_endpoints
    WHERE account_id = :account_id
) < :most
ON CONFLICT ON CONSTRAINT uq_webhook_endpoints_url DO NOTHING
RETURNING id
