-- Close cases for good, by an operator. The error stays on the row; nothing is sent.
UPDATE email_snoozes
SET outcome = 'cancelled',
    finished_at = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
WHERE id = ANY(:ids)
  AND outcome = 'retired'
RETURNING id
