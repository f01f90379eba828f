-- Set the browser's language and customs until the person has chosen a zone and a locale.
UPDATE accounts
SET locale = :locale
WHERE id = :id
  AND NOT zone_chosen
RETURNING id
