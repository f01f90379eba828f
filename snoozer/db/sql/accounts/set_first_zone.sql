-- Set the browser's zone until the person has chosen one.
UPDATE accounts
SET zone = :zone,
    zone_chosen = TRUE
WHERE id = :id
  AND NOT zone_chosen
RETURNING id
