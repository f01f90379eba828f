-- One message: its row, its entry in the ledger, and how often that was uncertain.
SELECT
    snooze.outcome,
    snooze.claimed_by,
    snooze.attempts,
    snooze.crash_count,
    send.state,
    send.resends,
    (SELECT count(*) FROM reminder_sends AS each WHERE each.message_id = snooze.message_id AND each.channel = 'email')
        AS entries,
    (SELECT count(*) FROM snooze_events AS event WHERE event.snooze_id = snooze.id AND event.kind = 'uncertain')
        AS uncertain
FROM email_snoozes AS snooze
LEFT JOIN reminder_sends AS send ON send.snooze_id = snooze.id AND send.channel = 'email'
WHERE snooze.message_id = :message_id
ORDER BY send.id DESC
LIMIT 1
