-- name: add
-- Add an endpoint for a person who has fewer than `most`. Zero rows if there is no room, or the person has this URL.
INSERT INTO webhook_endpoints (account_id, url, events, shows_subject, secret)
SELECT :account_id, :url, CAST(:events AS text[]), :shows_subject, :secret
WHERE (
    SELECT count(*)
    FROM webhook_endpoints
    WHERE account_id = :account_id
) < :most
ON CONFLICT ON CONSTRAINT uq_webhook_endpoints_url DO NOTHING
RETURNING id

-- name: change
-- Choose which events an endpoint of a person gets, and whether with the subject. Deliveries entered before stay as
-- they are. Zero rows if this person has no such endpoint.
UPDATE webhook_endpoints
SET events = CAST(:events AS text[]),
    shows_subject = :shows_subject
WHERE id = :id
  AND account_id = :account_id
RETURNING id

-- name: end_lapsed
-- Fail the deliveries that lost workers hold for endpoints switched off since, like the waiting ones (end_waiting):
-- they would never be claimed again.
WITH lapsed AS MATERIALIZED (
    SELECT delivery.id
    FROM webhook_deliveries AS delivery
    JOIN webhook_endpoints AS endpoint ON endpoint.id = delivery.endpoint_id
    WHERE NOT endpoint.is_on
      AND delivery.claim_token IS NOT NULL
      AND delivery.claimed_until <= CURRENT_TIMESTAMP
    FOR NO KEY UPDATE OF delivery SKIP LOCKED
)
UPDATE webhook_deliveries AS delivery
SET state = 'failed',
    reason = COALESCE(delivery.reason, 'off'),
    finished_at = clock_timestamp(),
    claim_token = NULL,
    claimed_until = NULL
FROM lapsed
WHERE delivery.id = lapsed.id
RETURNING delivery.id

-- name: end_notice
-- The mail that an endpoint is off was sent, or refused for good. Zero rows if the endpoint was switched on or off
-- since.
UPDATE webhook_endpoints
SET notice_at = NULL
WHERE id = :id
  AND notice_at = :notice_at
RETURNING id

-- name: end_waiting
-- Fail the deliveries that wait for an endpoint that was switched off; they can be sent again by hand. Claimed
-- deliveries are left to their senders.
UPDATE webhook_deliveries
SET state = 'failed',
    reason = COALESCE(reason, 'off'),
    finished_at = clock_timestamp()
WHERE endpoint_id = :endpoint_id
  AND state = 'waiting'
  AND claim_token IS NULL
RETURNING id

-- name: enter_test
-- Enter a test event for a person's endpoint that is on. Zero rows if another one waits, or it is off or not theirs.
INSERT INTO webhook_deliveries (endpoint_id, account_id, event)
SELECT id, account_id, 'test'
FROM webhook_endpoints
WHERE id = :id
  AND account_id = :account_id
  AND is_on
  AND NOT EXISTS (
      SELECT 1
      FROM webhook_deliveries AS other
      WHERE other.endpoint_id = webhook_endpoints.id
        AND other.event = 'test'
        AND other.state = 'waiting'
  )
RETURNING id

-- name: give_back
-- A claimed delivery was not begun: it is due as before.
UPDATE webhook_deliveries
SET claim_token = NULL,
    claimed_until = NULL
WHERE id = :id
  AND claim_token = :claim_token
RETURNING id

-- name: pick
-- Choose and lock the endpoint whose turn it is: the endpoint that has waited the longest for a turn and has a due
-- delivery that can be sent now. So no endpoint delays another. At most `at_once` deliveries are on their way to one
-- endpoint, only one if it failed last. Without `any`, endpoints that failed or answered late are passed over: they
-- take some of the senders, never all. This statement waits for the lock, because the transactions that hold it only
-- write one answer. If no delivery is due, one look at an index shows it.
SELECT endpoint.id
FROM webhook_endpoints AS endpoint
JOIN accounts ON accounts.id = endpoint.account_id
WHERE EXISTS (
        SELECT 1
        FROM webhook_deliveries
        WHERE state = 'waiting'
          AND try_at <= CURRENT_TIMESTAMP
    )
  AND endpoint.is_on
  AND COALESCE(endpoint.quiet_until <= CURRENT_TIMESTAMP, TRUE)
  AND (CAST(:any AS boolean) OR (endpoint.failures = 0 AND COALESCE(endpoint.answer_ms, 0) < :slow_ms))
  AND accounts.disabled_at IS NULL
  AND (
      SELECT count(*)
      FROM webhook_deliveries AS busy
      WHERE busy.endpoint_id = endpoint.id
        AND busy.claim_token IS NOT NULL
        AND busy.claimed_until > CURRENT_TIMESTAMP
  ) < CASE WHEN endpoint.failures = 0 THEN CAST(:at_once AS integer) ELSE 1 END
  AND webhook_next(endpoint.id) IS NOT NULL
ORDER BY endpoint.turn_at, endpoint.id
LIMIT 1
FOR NO KEY UPDATE OF endpoint

-- name: prune
-- Delete deliveries that are 30 days old, and deliveries whose endpoint was removed while they were entered.
DELETE FROM webhook_deliveries
WHERE id = ANY(ARRAY(
    SELECT delivery.id
    FROM webhook_deliveries AS delivery
    WHERE delivery.occurred_at < CURRENT_TIMESTAMP - INTERVAL '30 days'
       OR (
           delivery.state = 'waiting'
           AND NOT EXISTS (SELECT 1 FROM webhook_endpoints AS endpoint WHERE endpoint.id = delivery.endpoint_id)
       )
    LIMIT :batch_size
))
RETURNING id

-- name: record
-- Record that an endpoint accepted a delivery: a fact, whatever the state of the claim. Repeating changes nothing. The
-- endpoint is locked first, as in all statements.
WITH endpoint AS MATERIALIZED (
    SELECT id
    FROM webhook_endpoints
    WHERE id = :endpoint_id
    FOR NO KEY UPDATE
),
delivered AS (
    UPDATE webhook_deliveries AS delivery
    SET state = 'delivered',
        attempts = delivery.attempts + 1,
        status = :status,
        reason = NULL,
        answer = :answer,
        answer_ms = :answer_ms,
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = clock_timestamp()
    FROM endpoint
    WHERE delivery.id = :id
      AND delivery.endpoint_id = endpoint.id
      AND delivery.state <> 'delivered'
    RETURNING delivery.endpoint_id
)
UPDATE webhook_endpoints AS endpoint
SET delivered_at = clock_timestamp(),
    failures = 0,
    quiet_until = NULL,
    answer_ms = :answer_ms
FROM delivered
WHERE endpoint.id = delivered.endpoint_id
RETURNING endpoint.id

-- name: remove
-- Remove a person's endpoint with all its deliveries. Zero rows if this person has no such endpoint.
WITH removed AS (
    DELETE FROM webhook_endpoints
    WHERE id = :id
      AND account_id = :account_id
    RETURNING id
),
forgotten AS (
    DELETE FROM webhook_deliveries
    USING removed
    WHERE webhook_deliveries.endpoint_id = removed.id
)
SELECT id
FROM removed

-- name: replace_secrets
-- Replace encrypted secrets by the same ones under a newer key of the ring, unless they changed since they were read.
UPDATE webhook_endpoints
SET secret = :secret,
    previous_secret = CASE WHEN previous_secret IS NOT NULL THEN CAST(:previous_secret AS bytea) END
WHERE id = :id
  AND secret = :known
  AND previous_secret IS NOT DISTINCT FROM CAST(:known_previous AS bytea)
  AND (previous_secret IS NULL OR CAST(:previous_secret AS bytea) IS NOT NULL)
RETURNING id

-- name: resend
-- Deliver something once more, with its id, for its owner: it is due at once, and its retry period starts over. Zero
-- rows if it waits already, is not theirs, or its endpoint is off.
UPDATE webhook_deliveries AS delivery
SET state = 'waiting',
    try_at = clock_timestamp(),
    first_tried_at = NULL,
    finished_at = NULL
FROM webhook_endpoints AS endpoint
WHERE delivery.id = :id
  AND delivery.account_id = :account_id
  AND delivery.state <> 'waiting'
  AND endpoint.id = delivery.endpoint_id
  AND endpoint.is_on
RETURNING delivery.id

-- name: rotate
-- Sign with another secret from now on, and also with the present one for `overlap`. Zero rows if this person has no
-- such endpoint.
UPDATE webhook_endpoints
SET previous_secret = secret,
    previous_until = clock_timestamp() + :overlap,
    secret = :secret
WHERE id = :id
  AND account_id = :account_id
RETURNING id

-- name: switch_off
-- Switch an endpoint off, for a reason; no delivery is entered or tried for it any more. With `account_id` its owner
-- acts, even on an endpoint that is off already; otherwise a mail to the owner is due.
UPDATE webhook_endpoints
SET is_on = FALSE,
    off_reason = :reason,
    off_at = clock_timestamp(),
    notice_at = CASE WHEN CAST(:account_id AS bigint) IS NULL THEN clock_timestamp() END
WHERE id = :id
  AND (is_on OR CAST(:account_id AS bigint) IS NOT NULL)
  AND (CAST(:account_id AS bigint) IS NULL OR account_id = :account_id)
RETURNING id

-- name: switch_on
-- Switch an endpoint of a person on again: it gets events from now on. Zero rows if it is on, or not theirs.
UPDATE webhook_endpoints
SET is_on = TRUE,
    off_reason = NULL,
    off_at = NULL,
    notice_at = NULL,
    failures = 0,
    quiet_until = NULL
WHERE id = :id
  AND account_id = :account_id
  AND NOT is_on
RETURNING id

-- name: take_notice
-- Take the mail that tells an owner that an endpoint was switched off: it is due again after `lease`, unless it is
-- ended. It is tried for at most three days, and only for a verified address. Zero rows if none is due.
WITH due AS MATERIALIZED (
    SELECT endpoint.id, account.email, account.locale
    FROM webhook_endpoints AS endpoint
    JOIN accounts AS account ON account.id = endpoint.account_id
    WHERE endpoint.notice_at <= CURRENT_TIMESTAMP
      AND endpoint.off_at > CURRENT_TIMESTAMP - INTERVAL '3 days'
      AND account.disabled_at IS NULL
      AND account.verified_at IS NOT NULL
    ORDER BY endpoint.notice_at, endpoint.id
    LIMIT 1
    FOR NO KEY UPDATE OF endpoint SKIP LOCKED
)
UPDATE webhook_endpoints AS endpoint
SET notice_at = clock_timestamp() + :lease
FROM due
WHERE endpoint.id = due.id
RETURNING endpoint.id, endpoint.off_reason, endpoint.off_at, endpoint.notice_at, due.email, due.locale
