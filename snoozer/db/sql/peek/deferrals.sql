-- The claims of people whose day has a shape: until when a rest defers each, and why. No reason means that no rest
-- defers it at this moment, or that the rests are not known.
SELECT snooze.id, deferral.until, deferral.reason
FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS requested (id, claim_token)
JOIN email_snoozes AS snooze ON snooze.id = requested.id
JOIN accounts AS account ON account.email = lower(snooze.user_email)
JOIN day_shapes AS day ON day.account_id = account.id
CROSS JOIN LATERAL snooze_deferral(snooze.user_email, snooze.id, snooze_promise(snooze)) AS deferral
WHERE snooze.claim_token = requested.claim_token
