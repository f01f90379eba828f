-- The ledger's entries of finished snoozes that have none, as ledger/record leaves them.
INSERT INTO reminder_sends (
    snooze_id, user_email, message_id, scheduled_for, bucket, reminder_message_id, state, claim_token,
    subject, sender_email, zone, bytes_sha256, smtp_code, enhanced_code, reply, queue_id,
    reserved_at, dot_authorised_at, sent_at
)
SELECT
    snooze.id,
    snooze.user_email,
    snooze.message_id,
    snooze.scheduled_for,
    snooze.bucket,
    '<' || left(encode(sha256(convert_to(snooze.message_id, 'UTF8')), 'hex'), 40) || '@snoozer.example>',
    'sent',
    gen_random_uuid(),
    snooze.subject,
    snooze.sender_email,
    snooze.zone,
    encode(sha256(convert_to(snooze.subject, 'UTF8')), 'hex'),
    250,
    '2.0.0',
    '250 2.0.0 Ok: queued as 4D2A1B0C9E',
    '4D2A1B0C9E',
    snooze.finished_at,
    snooze.finished_at,
    snooze.finished_at
FROM email_snoozes AS snooze
WHERE snooze.outcome = 'sent'
  AND NOT EXISTS (SELECT 1 FROM reminder_sends AS send WHERE send.snooze_id = snooze.id)
