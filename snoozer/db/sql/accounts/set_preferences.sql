-- Set the person's zone and locale.
UPDATE accounts
SET zone = :zone,
    locale = :locale,
    zone_chosen = TRUE
WHERE id = :id
RETURNING id
