-- Note that promises due at the ends of these people's rests were looked at, and are not gathered.
UPDATE day_shapes AS day
SET gathered_until = GREATEST(day.gathered_until, clock_timestamp())
FROM accounts AS account
WHERE account.id = day.account_id
  AND account.email = ANY(CAST(:people AS text[]))
  AND day.gathers_over IS NOT NULL
