-- Return kept messages whose time has come to the top of the inbox, unread, and enter that in the ledger: once for each
-- promise. With `snooze_ids`, only the messages of these snoozes, whose reminders are sent, even within a rest of their
-- owners or while operators have paused returns. Messages or snoozes locked by another transaction are skipped: they
-- may be about to be moved or cancelled.
WITH due AS MATERIALIZED (
    SELECT
        kept.id,
        kept.returns_at,
        snooze.id AS snooze_id,
        snooze.user_email,
        snooze.message_id,
        snooze.bucket,
        COALESCE(snooze.zone, 'UTC') AS zone
    FROM messages AS kept
    JOIN email_snoozes AS snooze ON snooze.id = kept.snooze_id
    WHERE kept.is_kept
      AND GREATEST(kept.returns_at, kept.deferred_until) <= CURRENT_TIMESTAMP
      AND kept.returns_at IS NOT NULL
      AND (
          CAST(:snooze_ids AS bigint[]) IS NOT NULL
          OR (SELECT until FROM snooze_deferral(kept.user_email, kept.snooze_id, kept.returns_at)) IS NULL
      )
      AND (
          CAST(:snooze_ids AS bigint[]) IS NOT NULL
          OR NOT EXISTS (SELECT 1 FROM pauses WHERE ended_at IS NULL)
          OR snooze_pause(snooze.user_email, snooze.priority, 'mailbox') IS NULL
      )
      AND kept.id BETWEEN :first_id AND :last_id
      AND (CAST(:snooze_ids AS bigint[]) IS NULL OR kept.snooze_id = ANY(CAST(:snooze_ids AS bigint[])))
    ORDER BY GREATEST(kept.returns_at, kept.deferred_until), kept.id
    LIMIT :batch_size
    FOR KEY SHARE OF snooze SKIP LOCKED
    FOR NO KEY UPDATE OF kept SKIP LOCKED
),
entered AS (
    INSERT INTO reminder_sends (
        snooze_id, user_email, message_id, scheduled_for, channel, bucket, zone,
        state, reserved_at, sent_at, resolution, resolved_by, resolved_at
    )
    SELECT
        snooze_id, user_email, message_id, returns_at, 'mailbox', bucket, zone,
        'sent', clock_timestamp(), clock_timestamp(), 'returned', 'clock', clock_timestamp()
    FROM due
    ORDER BY snooze_id
    ON CONFLICT (user_email, message_id, scheduled_for, channel) DO NOTHING
)
UPDATE messages AS kept
SET folder = 'inbox',
    unread = TRUE,
    returned = TRUE,
    surfaced_at = clock_timestamp(),
    returns_at = NULL
FROM due
WHERE kept.id = due.id
RETURNING due.snooze_id
