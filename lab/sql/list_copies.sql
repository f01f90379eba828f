-- Ledger entries of mails that left more than once: how often each was recorded as uncertain, and its bytes.
SELECT
    send.message_id,
    send.reminder_message_id,
    send.bytes_sha256,
    (SELECT count(*) FROM snooze_events AS event WHERE event.snooze_id = send.snooze_id AND event.kind = 'uncertain')
        AS uncertain
FROM reminder_sends AS send
WHERE send.message_id = ANY(CAST(:message_ids AS text[]))
  AND send.channel = 'email'
