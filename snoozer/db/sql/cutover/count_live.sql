-- How many imported jobs of a source still are to be sent here.
SELECT count(*)
FROM imported_jobs AS known
JOIN email_snoozes AS snooze ON snooze.id = known.snooze_id
WHERE known.source = :source
  AND known.withdrawn_at IS NULL
  AND snooze.outcome IS NULL
