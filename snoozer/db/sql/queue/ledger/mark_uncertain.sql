-- Mark sends as uncertain whose final dots were sent and got no reply.
UPDATE reminder_sends AS send
SET state = 'uncertain',
    uncertain_at = clock_timestamp(),
    reply = silence.reply
FROM unnest(
    CAST(:reminder_message_ids AS text[]),
    CAST(:claim_tokens AS uuid[]),
    CAST(:replies AS text[])
) AS silence (reminder_message_id, claim_token, reply)
WHERE send.reminder_message_id = silence.reminder_message_id
  AND send.claim_token = silence.claim_token
  AND send.state = 'sending'
RETURNING send.reminder_message_id
