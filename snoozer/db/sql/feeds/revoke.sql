-- Delete a feed of a person's: its address is unknown from now on. Zero rows where this person has no such feed.
DELETE FROM feeds
WHERE id = :id
  AND account_id = :account_id
RETURNING id
