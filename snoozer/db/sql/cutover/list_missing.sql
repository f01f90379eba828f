-- Imported jobs that still are to be sent here, and that no import has found in their source since that time.
SELECT known.job_id, known.snooze_id, known.user_email
FROM imported_jobs AS known
JOIN email_snoozes AS snooze ON snooze.id = known.snooze_id
WHERE known.source = :source
  AND known.seen_at < :before
  AND known.withdrawn_at IS NULL
  AND snooze.outcome IS NULL
ORDER BY known.job_id
LIMIT :limit
