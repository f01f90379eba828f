-- Forget what the old scheduler sent, before its log is read anew.
UPDATE shadow_jobs
SET sent_at = '{}'
WHERE source = :source
  AND sent_at <> '{}'
