-- Claims that have been held the longest and whose lease still runs: by whom, how far, and since when that worker is mute.
SELECT
    snooze.id,
    snooze.claimed_by AS worker,
    clock_timestamp() - snooze.claimed_at AS held,
    snooze.lease_expires_at - clock_timestamp() AS lease_left,
    COALESCE(send.state, 'no send') AS send,
    snooze.attempts,
    snooze.crash_count AS lost_workers,
    clock_timestamp() - worker.heartbeat_at AS heard_ago,
    worker.version
FROM email_snoozes AS snooze
LEFT JOIN reminder_sends AS send
  ON send.user_email = snooze.user_email
 AND send.message_id = snooze.message_id
 AND send.scheduled_for = snooze.scheduled_for
 AND send.channel = 'email'
LEFT JOIN workers AS worker ON worker.id = snooze.claimed_by
WHERE snooze.claimed_at IS NOT NULL
  AND snooze.lease_expires_at >= CURRENT_TIMESTAMP
ORDER BY snooze.claimed_at, snooze.id
LIMIT 100
