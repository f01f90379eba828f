-- End a pause. A transaction that sets rows aside for it has it locked, and is waited for: what comes later sees that it is
-- over, so the rows that it has set aside are all that there are.
UPDATE pauses
SET ended_at = clock_timestamp(),
    ended_by = :actor
WHERE id = :id
  AND ended_at IS NULL
RETURNING id
