-- Authorise the final dots of many mails, just before they leave: enter each promise in the ledger as `sending`, once,
-- with the content that its mail was composed of.
-- The claim must still be owned, its lease unexpired, and the row as it was claimed. No dot for a promise with an
-- obstacle, for an entry that was sent, is in flight, is uncertain and on hold, or was made since the claim, nor for a
-- digest whose members have changed. Snoozes, members and entries that another transaction has locked, perhaps to cancel
-- them, are skipped, and get no dot. A late mail is entered with the reason, as far as known, and with the time that it
-- is late from: its promise, or the end of a rest; a second copy has the time of the first. Rows are read one by one,
-- so that a plan that is made while the tables are empty reads them by an index, too. With `updated_at = claimed_at`
-- the planner would choose the index of claimed rows, which holds the claims of all workers.
WITH requested AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset(CAST(:mails AS json)) AS mail (
        snooze_id bigint,
        claim_token uuid,
        reminder_message_id text,
        bytes_sha256 text,
        subject text,
        sender_email text,
        note text,
        zone text,
        locale text,
        recipient text,
        digest_id bigint,
        members integer,
        late_by interval,
        delayed_by text
    )
),
member AS MATERIALIZED (
    SELECT requested.digest_id
    FROM requested
    JOIN digest_members AS listed ON listed.digest_id = requested.digest_id
    CROSS JOIN LATERAL (
        SELECT snooze.id
        FROM email_snoozes AS snooze
        WHERE snooze.id = listed.snooze_id
          AND NOT snooze.inactive
          AND snooze.scheduled_for = listed.scheduled_for
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS promised
    WHERE requested.members IS NOT NULL
),
promise AS MATERIALIZED (
    SELECT
        requested.*,
        snooze.*,
        (
            SELECT entry.id
            FROM reminder_sends AS entry
            WHERE entry.user_email = snooze.user_email
              AND entry.message_id = snooze.message_id
              AND entry.scheduled_for = snooze.scheduled_for
              AND entry.channel = 'email'
        ) AS entry_id
    FROM requested
    CROSS JOIN LATERAL (
        SELECT
            claimed.user_email,
            claimed.message_id,
            claimed.scheduled_for,
            claimed.bucket,
            claimed AS whole,
            GREATEST(claimed.scheduled_for, claimed.deferred_until) AS late_from
        FROM email_snoozes AS claimed
        WHERE claimed.id = requested.snooze_id
          AND claimed.claim_token = requested.claim_token
          AND claimed.lease_expires_at > clock_timestamp()
          AND claimed.updated_at IS NOT DISTINCT FROM claimed.claimed_at
          AND requested.digest_id IS NOT DISTINCT FROM (
              SELECT digest.id
              FROM digests AS digest
              WHERE digest.snooze_id = claimed.id
                AND digest.scheduled_for = claimed.scheduled_for
          )
          AND COALESCE(
              requested.members = (SELECT count(*) FROM member WHERE member.digest_id = requested.digest_id), TRUE
          )
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS snooze
),
entry AS MATERIALIZED (
    SELECT open.id
    FROM promise
    CROSS JOIN LATERAL (
        SELECT existing.id
        FROM reminder_sends AS existing
        WHERE existing.id = promise.entry_id
          AND (existing.bytes_sha256 IS NULL OR existing.bytes_sha256 = promise.bytes_sha256)
          AND snooze_send_is_open(
              existing, :hold, :hold_for_operator, CAST(:max_resends AS integer), CAST(:lookups AS integer),
              :only_connected
          )
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS open
)
INSERT INTO reminder_sends AS send (
    snooze_id, user_email, message_id, scheduled_for, channel, bucket, reminder_message_id,
    state, claim_token, subject, sender_email, note, zone, reserved_at, dot_authorised_at, bytes_sha256, delayed_by,
    locale, late_from, late_by, recipient
)
SELECT
    promise.snooze_id,
    promise.user_email,
    promise.message_id,
    promise.scheduled_for,
    'email',
    promise.bucket,
    promise.reminder_message_id,
    'sending',
    promise.claim_token,
    promise.subject,
    promise.sender_email,
    promise.note,
    promise.zone,
    CURRENT_TIMESTAMP,
    clock_timestamp(),
    promise.bytes_sha256,
    promise.delayed_by,
    promise.locale,
    promise.late_from,
    promise.late_by,
    promise.recipient
FROM promise
CROSS JOIN LATERAL snooze_obstacle(promise.whole) AS its
WHERE its.obstacle IS NULL
  AND (promise.entry_id IS NULL OR promise.entry_id IN (SELECT entry.id FROM entry))
ON CONFLICT (user_email, message_id, scheduled_for, channel) DO UPDATE
SET state = 'sending',
    snooze_id = EXCLUDED.snooze_id,
    claim_token = EXCLUDED.claim_token,
    subject = EXCLUDED.subject,
    sender_email = EXCLUDED.sender_email,
    note = EXCLUDED.note,
    zone = EXCLUDED.zone,
    locale = EXCLUDED.locale,
    recipient = EXCLUDED.recipient,
    bytes_sha256 = EXCLUDED.bytes_sha256,
    dot_authorised_at = EXCLUDED.dot_authorised_at,
    resends = send.resends + CASE WHEN send.state = 'uncertain' THEN 1 ELSE 0 END,
    resolution = CASE WHEN send.state = 'uncertain' THEN 'resend' ELSE send.resolution END,
    resolved_by = CASE WHEN send.state = 'uncertain' THEN 'policy' ELSE send.resolved_by END,
    resolved_at = CASE WHEN send.state = 'uncertain' THEN CURRENT_TIMESTAMP ELSE send.resolved_at END,
    delayed_by = EXCLUDED.delayed_by,
    late_from = COALESCE(CASE WHEN send.bytes_sha256 IS NOT NULL THEN send.late_from END, EXCLUDED.late_from),
    late_by = EXCLUDED.late_by,
    looks = 0,
    looked_at = NULL
WHERE send.id IN (SELECT entry.id FROM entry)
RETURNING
    send.claim_token,
    send.snooze_id,
    send.uncertain_at IS NOT NULL AND send.resolved_at = CURRENT_TIMESTAMP AS resent,
    CAST(extract(epoch FROM send.late_from - clock_timestamp()) AS double precision) AS early
