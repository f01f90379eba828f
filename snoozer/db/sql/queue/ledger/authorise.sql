-- Authorise the final dots of many mails, just before they leave: enter each promise in the ledger as `sending`, once,
-- with the content that its mail was composed of.
-- The claim must still be owned, its lease unexpired, and the row as it was claimed. No dot for a promise with an
-- obstacle, for an entry that was sent, is in flight, is uncertain and on hold, or was made since the claim, nor for a
-- digest whose members have changed. Snoozes, members and entries that another transaction has locked, perhaps to cancel
-- them, are skipped, and get no dot. A late mail is entered with the reason, as far as known, and with the time that it
-- is late from: its promise, or the end of a rest; a second copy has the time of the first. The arrays are columns so
-- that the planner does not know their lengths, and keeps one plan for batches of any size: making a plan takes longer
-- than a batch.
WITH given AS MATERIALIZED (
    SELECT
        CAST(:snooze_ids AS bigint[]) AS snooze_ids,
        CAST(:claim_tokens AS uuid[]) AS claim_tokens,
        CAST(:reminder_message_ids AS text[]) AS reminder_message_ids,
        CAST(:digests AS text[]) AS digests,
        CAST(:subjects AS text[]) AS subjects,
        CAST(:sender_emails AS text[]) AS sender_emails,
        CAST(:notes AS text[]) AS notes,
        CAST(:zones AS text[]) AS zones,
        CAST(:locales AS text[]) AS locales,
        CAST(:recipients AS text[]) AS recipients,
        CAST(:digest_ids AS bigint[]) AS digest_ids,
        CAST(:members AS integer[]) AS members,
        CAST(:late_bys AS interval[]) AS late_bys,
        CAST(:delayed_bys AS text[]) AS delayed_bys
),
requested AS MATERIALIZED (
    SELECT mail.*
    FROM given
    CROSS JOIN LATERAL unnest(
        given.snooze_ids, given.claim_tokens, given.reminder_message_ids, given.digests, given.subjects,
        given.sender_emails, given.notes, given.zones, given.locales, given.recipients, given.digest_ids, given.members,
        given.late_bys, given.delayed_bys
    ) AS mail (
        snooze_id, claim_token, reminder_message_id, bytes_sha256, subject, sender_email, note, zone, locale, recipient,
        digest_id, members, late_by, delayed_by
    )
),
member AS MATERIALIZED (
    SELECT requested.digest_id
    FROM requested
    JOIN digest_members AS listed ON listed.digest_id = requested.digest_id
    JOIN email_snoozes AS snooze ON snooze.id = listed.snooze_id
    WHERE requested.members IS NOT NULL
      AND NOT snooze.inactive
      AND snooze.scheduled_for = listed.scheduled_for
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
),
promise AS MATERIALIZED (
    SELECT
        snooze.id,
        snooze.user_email,
        snooze.message_id,
        snooze.scheduled_for,
        snooze.bucket,
        snooze.claim_token,
        snooze AS whole,
        requested.reminder_message_id,
        requested.bytes_sha256,
        requested.subject,
        requested.sender_email,
        requested.note,
        requested.zone,
        requested.locale,
        requested.recipient,
        requested.late_by,
        requested.delayed_by,
        GREATEST(snooze.scheduled_for, snooze.deferred_until) AS late_from,
        (
            SELECT entry.id
            FROM reminder_sends AS entry
            WHERE entry.user_email = snooze.user_email
              AND entry.message_id = snooze.message_id
              AND entry.scheduled_for = snooze.scheduled_for
              AND entry.channel = 'email'
        ) AS entry_id
    FROM requested
    JOIN email_snoozes AS snooze ON snooze.id = requested.snooze_id
    WHERE snooze.claim_token = requested.claim_token
      AND snooze.lease_expires_at > clock_timestamp()
      AND snooze.updated_at = snooze.claimed_at
      AND requested.digest_id IS NOT DISTINCT FROM (
          SELECT digest.id
          FROM digests AS digest
          WHERE digest.snooze_id = snooze.id
            AND digest.scheduled_for = snooze.scheduled_for
      )
      AND COALESCE(
          requested.members = (SELECT count(*) FROM member WHERE member.digest_id = requested.digest_id), TRUE
      )
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
),
entry AS MATERIALIZED (
    SELECT existing.id
    FROM promise
    JOIN reminder_sends AS existing ON existing.id = promise.entry_id
    WHERE (existing.bytes_sha256 IS NULL OR existing.bytes_sha256 = promise.bytes_sha256)
      AND snooze_send_is_open(
          existing, :hold, :hold_for_operator, CAST(:max_resends AS integer), CAST(:lookups AS integer), :only_connected
      )
    FOR NO KEY UPDATE OF existing SKIP LOCKED
)
INSERT INTO reminder_sends AS send (
    snooze_id, user_email, message_id, scheduled_for, channel, bucket, reminder_message_id,
    state, claim_token, subject, sender_email, note, zone, reserved_at, dot_authorised_at, bytes_sha256, delayed_by,
    locale, late_from, late_by, recipient
)
SELECT
    promise.id,
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
