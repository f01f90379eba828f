-- The returns of these messages alone keep their promises: no reminder is sent in addition.
UPDATE reminder_sends AS send
SET resolution = 'alone'
FROM unnest(
    CAST(:snooze_ids AS bigint[]),
    CAST(:promises AS timestamptz[])
) AS kept (snooze_id, scheduled_for)
JOIN email_snoozes AS snooze ON snooze.id = kept.snooze_id
WHERE send.user_email = snooze.user_email
  AND send.message_id = snooze.message_id
  AND send.scheduled_for = kept.scheduled_for
  AND send.channel = 'mailbox'
RETURNING send.id
