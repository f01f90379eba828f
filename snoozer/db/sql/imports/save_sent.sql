-- Enter the promises kept before the import by imported snoozes that still wait. A promise at the present promise or
-- later is left out: it would stand for a reminder that has not been sent.
INSERT INTO reminder_sends (
    snooze_id, user_email, message_id, scheduled_for, bucket, reminder_message_id, state, claim_token, zone,
    reserved_at, sent_at, resolution, resolved_by, resolved_at
)
SELECT
    snooze.id, snooze.user_email, snooze.message_id, CAST(pair ->> 0 AS timestamptz), snooze.bucket,
    '<' || gen_random_uuid() || '@imported.snoozer.invalid>', 'sent', gen_random_uuid(), COALESCE(snooze.zone, 'UTC'),
    CAST(pair ->> 0 AS timestamptz), CAST(pair ->> 1 AS timestamptz), 'imported', 'import', CURRENT_TIMESTAMP
FROM email_snoozes AS snooze
JOIN import_rows AS read ON read.import_id = :import_id AND read.message_id = snooze.message_id
CROSS JOIN LATERAL jsonb_array_elements(read.sends) AS pair
WHERE snooze.id = ANY(:ids)
  AND read.made_at = snooze.created_at
  AND CAST(pair ->> 0 AS timestamptz) < LEAST(snooze.remind_at, CURRENT_TIMESTAMP)
ON CONFLICT DO NOTHING
