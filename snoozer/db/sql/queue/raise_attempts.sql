-- Raise how often snoozes may be tried, by an operator: of what is alive, and of cases, which stay cases.
-- Nothing is finished or begun by it, so a worker that holds a row keeps it.
UPDATE email_snoozes AS snooze
SET max_attempts = LEAST(snooze.max_attempts + CAST(:more AS integer), CAST(:most AS integer)),
    updated_at = CURRENT_TIMESTAMP
WHERE id = ANY(:ids)
  AND (outcome IS NULL OR outcome = 'retired')
  AND max_attempts < :most
RETURNING id, max_attempts
