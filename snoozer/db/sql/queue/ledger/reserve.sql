-- Enter each claimed promise in the ledger, once. The holder of the claim takes an existing entry over, unless it was
-- sent, is in flight, or is uncertain and on hold. The content is frozen once a dot was authorised, so a resend has the
-- same bytes. The mail's content comes from the snooze, so an entry that was lost and made again has the same bytes,
-- too; the mail is dated when it was promised, or when the snooze was entered if it was due already. Skipped are
-- entries that another transaction has locked, and promises that the return of the message alone keeps or may yet keep,
-- that the owner's day defers, that a digest contains or may yet contain, or that operators have paused. A late promise
-- is entered with the reason, as far as known, and with the time it is late from: its promise, or the end of a rest.
WITH promise AS MATERIALIZED (
    SELECT
        snooze.*,
        GREATEST(snooze.scheduled_for, snooze.deferred_until) AS late_from,
        (
            SELECT entry.id
            FROM reminder_sends AS entry
            WHERE entry.user_email = snooze.user_email
              AND entry.message_id = snooze.message_id
              AND entry.scheduled_for = snooze.scheduled_for
              AND entry.channel = 'email'
        ) AS entry_id
    FROM email_snoozes AS snooze
    WHERE snooze.id = ANY(:ids)
      AND snooze.claimed_by = :worker
),
entry AS MATERIALIZED (
    SELECT existing.id
    FROM promise
    JOIN reminder_sends AS existing ON existing.id = promise.entry_id
    FOR NO KEY UPDATE OF existing SKIP LOCKED
)
INSERT INTO reminder_sends AS send (
    snooze_id, user_email, message_id, scheduled_for, channel, bucket, reminder_message_id,
    state, claim_token, subject, sender_email, note, zone, reserved_at, delayed_by, locale, late_from
)
SELECT
    promise.id,
    promise.user_email,
    promise.message_id,
    promise.scheduled_for,
    'email',
    promise.bucket,
    snooze_reminder_name(promise.id, promise.user_email, promise.message_id, promise.scheduled_for, CAST(:domain AS text)),
    'reserved',
    promise.claim_token,
    promise.subject,
    promise.sender_email,
    promise.note,
    COALESCE(promise.zone, accounts.zone, 'UTC'),
    CURRENT_TIMESTAMP,
    CASE
        WHEN promise.late_from >= CURRENT_TIMESTAMP - INTERVAL '30 seconds'
            THEN promise.deferred_by
        WHEN promise.crash_count > 0 THEN 'worker'
        WHEN promise.attempts > 0 THEN 'failure'
        WHEN promise.last_error_at >= promise.late_from THEN 'mail server'
        WHEN EXISTS (
            SELECT 1
            FROM messages AS its
            JOIN mailboxes AS mailbox ON mailbox.id = its.mailbox_id
            WHERE its.user_email = promise.user_email
              AND its.message_id = promise.message_id
              AND mailbox.brings_back = 'return'
        ) THEN 'mailbox'
        WHEN EXISTS (
            SELECT 1
            FROM circuit_breakers AS breaker
            WHERE breaker.state <> 'closed'
               OR breaker.closed_at >= promise.late_from
        ) THEN 'mail server'
        ELSE 'queue'
    END,
    accounts.locale,
    promise.late_from
FROM promise
LEFT JOIN accounts ON accounts.email = promise.user_email
LEFT JOIN (
    SELECT shaped.email
    FROM day_shapes
    JOIN accounts AS shaped ON shaped.id = day_shapes.account_id
) AS day ON day.email = lower(promise.user_email)
WHERE (promise.entry_id IS NULL OR promise.entry_id IN (SELECT entry.id FROM entry))
  AND (
      NOT EXISTS (SELECT 1 FROM pauses WHERE ended_at IS NULL)
      OR snooze_pause(promise.user_email, promise.priority, 'mail') IS NULL
  )
  AND (
      day.email IS NULL
      OR (
          (SELECT until FROM snooze_deferral(promise.user_email, promise.id, promise.scheduled_for)) IS NULL
          AND NOT snooze_may_be_gathered(promise.user_email, promise.id)
      )
  )
  AND (
      SELECT first.id
      FROM digest_members AS member
      JOIN digests AS digest ON digest.id = member.digest_id
      JOIN email_snoozes AS first ON first.id = digest.snooze_id
      WHERE member.snooze_id = promise.id
        AND member.scheduled_for = promise.scheduled_for
  ) IS NULL
  AND snooze_archived_send(promise.user_email, promise.message_id, promise.scheduled_for) IS NULL
  AND (
      promise.entry_id IS NOT NULL
      OR snooze_return_alone(promise.user_email, promise.message_id, promise.scheduled_for) IS NULL
  )
ORDER BY promise.id
ON CONFLICT (user_email, message_id, scheduled_for, channel) DO UPDATE
SET snooze_id = EXCLUDED.snooze_id,
    subject = CASE WHEN send.bytes_sha256 IS NULL THEN EXCLUDED.subject ELSE send.subject END,
    sender_email = CASE WHEN send.bytes_sha256 IS NULL THEN EXCLUDED.sender_email ELSE send.sender_email END,
    note = CASE WHEN send.bytes_sha256 IS NULL THEN EXCLUDED.note ELSE send.note END,
    zone = CASE WHEN send.bytes_sha256 IS NULL THEN EXCLUDED.zone ELSE send.zone END,
    locale = CASE WHEN send.bytes_sha256 IS NULL THEN EXCLUDED.locale ELSE send.locale END,
    claim_token = EXCLUDED.claim_token,
    resends = send.resends + CASE WHEN send.state = 'uncertain' THEN 1 ELSE 0 END,
    resolution = CASE WHEN send.state = 'uncertain' THEN 'resend' ELSE send.resolution END,
    resolved_by = CASE WHEN send.state = 'uncertain' THEN 'policy' ELSE send.resolved_by END,
    resolved_at = CASE WHEN send.state = 'uncertain' THEN CURRENT_TIMESTAMP ELSE send.resolved_at END,
    delayed_by = CASE
        WHEN EXCLUDED.delayed_by IS NOT NULL AND send.refusals > 0 THEN 'recipient'
        ELSE EXCLUDED.delayed_by
    END,
    late_from = EXCLUDED.late_from,
    looks = 0,
    looked_at = NULL,
    state = 'reserved'
WHERE send.state IN ('reserved', 'failed')
   OR (
       send.state = 'uncertain'
       AND NOT :hold_for_operator
       AND send.resends < :max_resends
       AND send.uncertain_at <= CURRENT_TIMESTAMP - :hold
       AND (
           send.looks >= :lookups
           OR (:only_connected AND NOT snooze_reminder_is_sought(send.user_email, send.uncertain_at, :hold))
       )
   )
RETURNING
    send.id,
    send.snooze_id,
    send.claim_token,
    send.user_email,
    send.message_id,
    send.scheduled_for,
    (
        SELECT LEAST(GREATEST(send.scheduled_for, snooze.created_at), '9999-01-01 00:00+00')
        FROM email_snoozes AS snooze
        WHERE snooze.id = send.snooze_id
    ) AS dated,
    (
        -- A message that arrived after its snooze would change bytes that may have left already.
        SELECT kept.thread_ids
        FROM email_snoozes AS snooze
        JOIN messages AS kept ON kept.user_email = snooze.user_email AND kept.message_id = snooze.message_id
        WHERE snooze.id = send.snooze_id
          AND kept.is_kept
          AND kept.arrived_at <= snooze.created_at
    ) AS thread_ids,
    send.reminder_message_id,
    send.subject,
    send.sender_email,
    send.note,
    send.zone,
    send.locale,
    send.bytes_sha256,
    send.resends,
    send.refusals,
    (
        SELECT digest.id
        FROM digests AS digest
        WHERE digest.snooze_id = send.snooze_id
          AND digest.scheduled_for = send.scheduled_for
    ) AS digest_id,
    send.uncertain_at IS NOT NULL AND send.resolved_at = CURRENT_TIMESTAMP AS resent
