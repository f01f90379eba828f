-- Which of these claims are still owned.
SELECT snooze.id
FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS requested (id, claim_token)
JOIN email_snoozes AS snooze ON snooze.id = requested.id
WHERE snooze.claim_token = requested.claim_token
