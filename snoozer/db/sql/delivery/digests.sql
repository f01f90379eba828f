-- name: dissolve
-- Dissolve the given digests that must not be sent: their members are sent singly. The digests' promises are locked and
-- not claimed, so no worker can authorise the mail that it has written. Only digests that no copy may have been sent of
-- are dissolved. A digest must not be sent if its promise is over, as after it was refused for good, or has moved, if it was not sent within the hold, or if the person wants single mails now.
WITH unsent AS MATERIALIZED (
    SELECT digest.id
    FROM digests AS digest
    LEFT JOIN day_shapes AS day ON day.account_id = digest.account_id
    JOIN email_snoozes AS snooze ON snooze.id = digest.snooze_id
    LEFT JOIN reminder_sends AS send
      ON send.snooze_id = digest.snooze_id
     AND send.scheduled_for = digest.scheduled_for
     AND send.channel = 'email'
    WHERE digest.id = ANY(:ids)
      AND (
          send.id IS NULL
          OR (
              send.state NOT IN ('sending', 'sent', 'uncertain')
              AND (send.bytes_sha256 IS NULL OR snooze.inactive)
          )
      )
      AND (
          snooze.inactive
          OR snooze_promise(snooze) <> digest.scheduled_for
          OR (day.gathers_over IS NULL AND snooze.recurrence ->> 'kind' IS DISTINCT FROM 'someday')
          OR digest.gathered_at < clock_timestamp() - :hold
      )
)
DELETE FROM digests
USING unsent
WHERE digests.id = unsent.id
RETURNING digests.id

-- name: leave
-- Remove promises that have ended or moved from these digests, whose bytes are not fixed.
DELETE FROM digest_members AS member
WHERE member.digest_id = ANY(:ids)
  AND NOT EXISTS (
      SELECT 1
      FROM email_snoozes AS snooze
      WHERE snooze.id = member.snooze_id
        AND NOT snooze.inactive
        AND snooze.scheduled_for = member.scheduled_for
  )

-- name: list_members
-- The content of these digests: their members, in order.
SELECT
    member.digest_id,
    member.snooze_id,
    member.scheduled_for,
    entry.subject,
    entry.sender_email,
    entry.note
FROM digest_members AS member
JOIN reminder_sends AS entry
  ON entry.snooze_id = member.snooze_id
 AND entry.scheduled_for = member.scheduled_for
 AND entry.channel = 'email'
WHERE member.digest_id = ANY(:ids)
ORDER BY member.digest_id, member.position

-- name: lock
-- Lock the promises whose reminders are these people's digests, unless a worker has claimed them; returns the digests.
-- Read the state of their sends after that: until this transaction ends, none of them is authorised.
WITH unclaimed AS MATERIALIZED (
    SELECT digest.id
    FROM digests AS digest
    JOIN accounts AS account ON account.id = digest.account_id
    JOIN email_snoozes AS snooze ON snooze.id = digest.snooze_id
    WHERE account.email = ANY(CAST(:people AS text[]))
      AND digest.settled_at IS NULL
      AND snooze.claim_token IS NULL
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
SELECT id FROM unclaimed

-- name: pass_over
-- Note that promises due at the ends of these people's rests were looked at, and are not gathered.
UPDATE day_shapes AS day
SET gathered_until = GREATEST(day.gathered_until, clock_timestamp())
FROM accounts AS account
WHERE account.id = day.account_id
  AND account.email = ANY(CAST(:people AS text[]))
  AND day.gathers_over IS NOT NULL

-- name: prune
-- Delete digests gathered longer ago than `older_than`, except those not settled whose mail may have been sent: the
-- reminders of the others are in the ledger.
DELETE FROM digests
WHERE id = ANY(ARRAY(
    SELECT digest.id
    FROM digests AS digest
    WHERE digest.gathered_at < clock_timestamp() - :older_than
      AND (
          digest.settled_at IS NOT NULL
          OR NOT EXISTS (
              SELECT 1
              FROM reminder_sends AS lead
              WHERE lead.snooze_id = digest.snooze_id
                AND lead.scheduled_for = digest.scheduled_for
                AND lead.channel = 'email'
                AND lead.state IN ('sending', 'sent', 'uncertain')
          )
      )
    ORDER BY digest.gathered_at
    LIMIT :batch_size
))
RETURNING id

-- name: record
-- Enter in the ledger that these promises had their reminders in digests that were sent. Promises of no digest are
-- ignored. The caller has locked their snoozes.
UPDATE reminder_sends AS send
SET state = 'sent',
    sent_at = lead.sent_at,
    resolution = 'digest',
    resolved_by = 'server',
    resolved_at = clock_timestamp()
FROM unnest(
    CAST(:snooze_ids AS bigint[]),
    CAST(:promises AS timestamptz[])
) AS kept (snooze_id, scheduled_for)
JOIN digest_members AS member ON member.snooze_id = kept.snooze_id AND member.scheduled_for = kept.scheduled_for
JOIN digests AS digest ON digest.id = member.digest_id
JOIN reminder_sends AS lead
  ON lead.snooze_id = digest.snooze_id
 AND lead.scheduled_for = digest.scheduled_for
 AND lead.channel = 'email'
WHERE send.snooze_id = kept.snooze_id
  AND send.scheduled_for = kept.scheduled_for
  AND send.channel = 'email'
  AND send.state <> 'sent'
  AND lead.state = 'sent'
RETURNING send.snooze_id

-- name: release
-- An operator reactivated these cases: they have reminders of their own again.
DELETE FROM digest_members
WHERE snooze_id = ANY(:ids)
