-- The given claims that a pause of operators holds back, each with its pause.
SELECT snooze.id, snooze_pause(snooze.user_email, snooze.priority, 'mail') AS pause_id
FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS requested (id, claim_token)
JOIN email_snoozes AS snooze ON snooze.id = requested.id
WHERE snooze.claim_token = requested.claim_token
  AND EXISTS (SELECT 1 FROM pauses WHERE ended_at IS NULL)
  AND snooze_pause(snooze.user_email, snooze.priority, 'mail') IS NOT NULL
