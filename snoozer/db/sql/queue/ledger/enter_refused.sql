-- Enter promises in the ledger, as not sent, whose mails the server refused before a dot was authorised: without an
-- entry the refusal could not be counted. Entries that exist stay as they are.
INSERT INTO reminder_sends (
    snooze_id, user_email, message_id, scheduled_for, channel, bucket, reminder_message_id,
    state, claim_token, subject, sender_email, note, zone, reserved_at, locale
)
SELECT
    snooze.id, snooze.user_email, snooze.message_id, refused.scheduled_for, 'email', snooze.bucket,
    refused.reminder_message_id, 'failed', refused.claim_token, snooze.subject, snooze.sender_email, snooze.note,
    refused.zone, CURRENT_TIMESTAMP, refused.locale
FROM unnest(
    CAST(:snooze_ids AS bigint[]),
    CAST(:promises AS timestamptz[]),
    CAST(:reminder_message_ids AS text[]),
    CAST(:claim_tokens AS uuid[]),
    CAST(:zones AS text[]),
    CAST(:locales AS text[])
) AS refused (snooze_id, scheduled_for, reminder_message_id, claim_token, zone, locale)
JOIN email_snoozes AS snooze ON snooze.id = refused.snooze_id
ON CONFLICT DO NOTHING
