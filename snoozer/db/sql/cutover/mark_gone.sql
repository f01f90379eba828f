-- Note which jobs vanished from the old scheduler before they were due: cancelled, moved, or sent early. A job that
-- vanished within a margin of its time may have been sent by a clock that is ahead.
UPDATE shadow_jobs
SET gone_at = CURRENT_TIMESTAMP
WHERE source = :source
  AND seen_at < :before
  AND gone_at IS NULL
  AND would_send_at IS NULL
  AND due_at > CURRENT_TIMESTAMP + :margin
RETURNING job_id
