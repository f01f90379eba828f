-- Record that messages are in `folder`, seen there under these UIDs. A due message that is back was returned: enter
-- that in the ledger, once for each promise, with the reason for a delay, and end its return. If its snooze repeats,
-- set the next return, which is promised already. A conversation was returned when all its messages are back, except
-- missing ones.
WITH found AS MATERIALIZED (
    SELECT
        message.id,
        seen.uid,
        message.returns_at,
        message.snooze_id,
        CASE
            WHEN GREATEST(message.returns_at, message.deferred_until) >= clock_timestamp() - INTERVAL '30 seconds' THEN NULL
            WHEN mailbox.problem IN ('login', 'token', 'sign_in') THEN 'sign-in'
            WHEN mailbox.problem IS NOT NULL THEN 'mail server'
        END AS delayed_by,
        :place = 'home' AND COALESCE(GREATEST(message.returns_at, message.deferred_until) <= clock_timestamp(), FALSE) AS returned
    FROM unnest(CAST(:ids AS bigint[]), CAST(:uids AS bigint[])) AS seen (id, uid)
    JOIN messages AS message ON message.id = seen.id
    JOIN mailboxes AS mailbox ON mailbox.id = message.mailbox_id
    WHERE mailbox.fence = :fence
    ORDER BY message.id
    FOR NO KEY UPDATE OF message
),
entered AS (
    INSERT INTO reminder_sends (
        snooze_id, user_email, message_id, scheduled_for, channel, bucket, zone,
        state, reserved_at, sent_at, resolution, resolved_by, resolved_at, delayed_by
    )
    SELECT
        snooze.id, snooze.user_email, snooze.message_id, found.returns_at, 'mailbox', snooze.bucket,
        COALESCE(snooze.zone, 'UTC'), 'sent', clock_timestamp(), clock_timestamp(), 'returned', 'mailbox',
        clock_timestamp(), found.delayed_by
    FROM found
    JOIN email_snoozes AS snooze ON snooze.id = found.snooze_id
    WHERE found.returned
      AND NOT EXISTS (
          SELECT 1
          FROM messages AS other
          WHERE other.snooze_id = snooze.id
            AND other.returns_at = found.returns_at
            AND other.place <> 'missing'
            AND other.id <> ALL(CAST(:ids AS bigint[]))
            AND NOT other.is_kept
      )
    ORDER BY snooze.id
    ON CONFLICT (user_email, message_id, scheduled_for, channel) DO NOTHING
)
UPDATE messages AS message
SET place = :place,
    folder = :folder,
    uidvalidity = :uidvalidity,
    uid = found.uid,
    missing_since = NULL,
    moving_to = NULL,
    target_folder = NULL,
    target_uidvalidity = NULL,
    target_uidnext = NULL,
    was_unread = message.was_unread AND :place = 'snoozed',
    wanted = CASE WHEN found.returned THEN 'home' ELSE message.wanted END,
    returns_at = CASE WHEN found.returned THEN next_one.at ELSE message.returns_at END,
    updated_at = CURRENT_TIMESTAMP
FROM found
LEFT JOIN LATERAL (
    SELECT snooze_return_at(snooze) AS at
    FROM email_snoozes AS snooze
    WHERE snooze.id = found.snooze_id
      AND NOT snooze.inactive
      AND snooze_return_at(snooze) <> found.returns_at
) AS next_one ON TRUE
WHERE message.id = found.id
RETURNING message.id, found.returned
