-- The mails of these claims of a worker, or without a worker, of these unclaimed snoozes, that may be sent now. Nothing
-- is written or locked: ledger/authorise.sql asks for all of it again. The content comes from the snooze and its promise, so the same claim
-- has the same bytes in every process; it is frozen in the ledger once a dot was authorised, so a resend has the same
-- bytes, too. The mail is dated when it was promised, or when the snooze was entered if it was due already. It counts
-- `as_of` that time, or of the end of its rest; a mail that is more than five minutes late, of now, and says so.
WITH given AS MATERIALIZED (
    SELECT CAST(:ids AS bigint[]) AS ids
),
promise AS MATERIALIZED (
    SELECT
        snooze.*,
        snooze_promise(snooze) AS promised,
        snooze AS whole,
        (
            SELECT existing
            FROM reminder_sends AS existing
            WHERE existing.user_email = snooze.user_email
              AND existing.message_id = snooze.message_id
              AND existing.scheduled_for = snooze_promise(snooze)
              AND existing.channel = 'email'
        ) AS entry
    FROM given
    CROSS JOIN LATERAL unnest(given.ids) AS claim (id)
    JOIN email_snoozes AS snooze ON snooze.id = claim.id
    WHERE snooze.claimed_by IS NOT DISTINCT FROM CAST(:worker AS text)
)
SELECT
    promise.id AS snooze_id,
    promise.claim_token,
    promise.user_email,
    CASE
        WHEN entry.bytes_sha256 IS NOT NULL
            THEN (SELECT own.email FROM account_addresses AS own WHERE own.email = entry.recipient AND own.account_id = accounts.id)
        -- Most people have one address.
        WHEN EXISTS (SELECT 1 FROM account_addresses AS own WHERE own.account_id = accounts.id)
            THEN NULLIF(snooze_recipient(promise.user_email), promise.user_email)
    END AS recipient,
    promise.message_id,
    promise.promised AS scheduled_for,
    LEAST(GREATEST(promise.promised, promise.created_at), '9999-01-01 00:00+00') AS dated,
    (
        -- A message that arrived after its snooze would change bytes that may have left already. A message of a
        -- connected mailbox is entered in the transaction of its snooze, which began a little earlier.
        SELECT original.thread_ids
        FROM messages AS original
        WHERE original.user_email = promise.user_email
          AND original.message_id = promise.message_id
          AND original.arrived_at <= promise.created_at
              + CASE WHEN original.is_kept THEN INTERVAL '0' ELSE INTERVAL '1 minute' END
          AND original.thread_ids IS NOT NULL
        ORDER BY original.is_kept DESC
        LIMIT 1
    ) AS thread_ids,
    COALESCE(
        entry.reminder_message_id,
        snooze_reminder_name(
            promise.id, promise.user_email, promise.message_id, promise.promised, CAST(:domain AS text)
        )
    ) AS reminder_message_id,
    CASE WHEN entry.bytes_sha256 IS NULL THEN promise.subject ELSE entry.subject END AS subject,
    CASE WHEN entry.bytes_sha256 IS NULL THEN promise.sender_email ELSE entry.sender_email END AS sender_email,
    CASE WHEN entry.bytes_sha256 IS NULL THEN promise.note ELSE entry.note END AS note,
    CASE
        WHEN entry.bytes_sha256 IS NULL THEN COALESCE(promise.zone, accounts.zone, 'UTC')
        ELSE entry.zone
    END AS zone,
    CASE WHEN entry.bytes_sha256 IS NULL THEN accounts.locale ELSE entry.locale END AS locale,
    entry.bytes_sha256,
    entry.claim_token AS former_token,
    COALESCE(entry.resends, 0) + CASE WHEN entry.state = 'uncertain' THEN 1 ELSE 0 END AS resends,
    COALESCE(entry.refusals, 0) AS refusals,
    LEAST(its_time.since + COALESCE(delay.late_by, INTERVAL '0'), '9999-01-01 00:00+00') AS as_of,
    delay.late_by,
    CASE
        WHEN entry.bytes_sha256 IS NOT NULL AND entry.late_by IS NOT NULL THEN entry.delayed_by
        WHEN its_time.is_on_time AND promise.deferred_by IS NULL THEN NULL
        WHEN entry.refusals > 0 THEN 'recipient'
        WHEN its_time.is_on_time THEN promise.deferred_by
        WHEN promise.crash_count > 0 THEN 'worker'
        WHEN promise.attempts > 0 THEN 'failure'
        WHEN promise.last_error_at >= its_time.late_from THEN 'mail server'
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
               OR breaker.closed_at >= its_time.late_from
        ) THEN 'mail server'
        ELSE 'queue'
    END AS delayed_by,
    (
        SELECT digest.id
        FROM digests AS digest
        WHERE digest.snooze_id = promise.id
          AND digest.scheduled_for = promise.promised
    ) AS digest_id,
    promise.recurrence IS NOT NULL AS repeats,
    (promise.recurrence ->> 'kind' = 'someday') IS TRUE AS is_review,
    (
        SELECT original.snippet
        FROM messages AS original
        WHERE original.user_email = promise.user_email
          AND original.message_id = promise.message_id
          AND original.is_kept
          AND original.arrived_at <= promise.created_at
        LIMIT 1
    ) AS excerpt
FROM promise
CROSS JOIN LATERAL snooze_obstacle(promise.whole) AS its
LEFT JOIN accounts ON accounts.email = promise.user_email
CROSS JOIN LATERAL (SELECT (promise.entry).*) AS entry
CROSS JOIN LATERAL (
    SELECT
        CASE
            WHEN entry.bytes_sha256 IS NULL THEN GREATEST(promise.promised, promise.deferred_until)
            ELSE COALESCE(entry.late_from, promise.promised)
        END AS late_from
) AS its_end
CROSS JOIN LATERAL (
    SELECT
        its_end.late_from,
        GREATEST(its_end.late_from, promise.created_at) AS since,
        its_end.late_from >= COALESCE(promise.claimed_at, CURRENT_TIMESTAMP) - INTERVAL '30 seconds' AS is_on_time
) AS its_time
CROSS JOIN LATERAL (
    SELECT
        CASE
            WHEN entry.bytes_sha256 IS NOT NULL THEN entry.late_by
            WHEN its_time.since < CURRENT_TIMESTAMP - INTERVAL '5 minutes'
                THEN date_trunc('minute', CURRENT_TIMESTAMP - its_time.since)
        END AS late_by
) AS delay
WHERE its.obstacle IS NULL
  AND (
      entry.id IS NULL
      OR snooze_send_is_open(
          promise.entry, :hold, :hold_for_operator, CAST(:max_resends AS integer), CAST(:lookups AS integer),
          :only_connected
      )
  )
