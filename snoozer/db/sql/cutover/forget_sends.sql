-- Forget the sends of the old scheduler, before its log is read again.
UPDATE shadow_jobs
SET sent_at = '{}'
WHERE source = :source
  AND sent_at <> '{}'
