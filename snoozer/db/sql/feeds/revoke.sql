-- Delete a person's feed: its URL stops working. Zero rows if this person has no such feed.
DELETE FROM feeds
WHERE id = :id
  AND account_id = :account_id
RETURNING id
