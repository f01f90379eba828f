-- name: add_service
-- Add a service that notifies a person. Returns its id; zero rows if the account has `most` devices.
INSERT INTO push_devices (account_id, name, service, address, shows_subject)
SELECT :account_id, :label, :service, :address, :shows_subject
WHERE (SELECT count(*) FROM push_devices WHERE account_id = :account_id) < :most
RETURNING id

-- name: begin_alarm
-- An alarm begins, unless one goes on: enter it, and a push for each service of an operator that gets alarms. Quiet
-- hours do not hold it. Zero rows if another alarm goes on.
WITH begun AS (
    INSERT INTO alarms (sentence)
    VALUES (:sentence)
    ON CONFLICT ((ended_at IS NULL)) WHERE ended_at IS NULL DO NOTHING
    RETURNING id
),
pushed AS (
    INSERT INTO push_sends (device_id, account_id, alarm_id, alarm_ended, scheduled_for, try_at, expires_at)
    SELECT
        device.id, device.account_id, begun.id, FALSE, clock_timestamp(), clock_timestamp(),
        clock_timestamp() + INTERVAL '4 hours'
    FROM begun
    CROSS JOIN push_devices AS device
    JOIN accounts AS account ON account.id = device.account_id
    WHERE device.tells_alarms
      AND account.disabled_at IS NULL
      AND (
          account.role <> 'user'
          OR (account.group_role <> 'user' AND account.group_role_at > clock_timestamp() - :role_lifetime)
      )
    ON CONFLICT ON CONSTRAINT uq_push_sends_alarm DO NOTHING
)
SELECT id FROM begun

-- name: create_key
-- Keep a new pair of keys that signs pushes; returns its id.
INSERT INTO push_keys (public_key, private_key)
VALUES (:public_key, :private_key)
RETURNING id

-- name: end_alarm
-- The alarm that goes on has ended: a push for each service that got a push when it began. Zero rows if none goes on.
WITH ended AS (
    UPDATE alarms
    SET ended_at = clock_timestamp()
    WHERE ended_at IS NULL
    RETURNING id
),
pushed AS (
    INSERT INTO push_sends (device_id, account_id, alarm_id, alarm_ended, scheduled_for, try_at, expires_at)
    SELECT
        began.device_id, began.account_id, ended.id, TRUE, clock_timestamp(), clock_timestamp(),
        clock_timestamp() + INTERVAL '4 hours'
    FROM ended
    JOIN push_sends AS began ON began.alarm_id = ended.id
    WHERE NOT began.alarm_ended
    ON CONFLICT ON CONSTRAINT uq_push_sends_alarm DO NOTHING
)
SELECT id FROM ended

-- name: end_waiting
-- Fail the pushes that wait for a device that is removed.
UPDATE push_sends
SET state = 'failed',
    reason = :reason,
    claim_token = NULL,
    claimed_until = NULL,
    finished_at = clock_timestamp()
WHERE device_id = :target
  AND state = 'reserved'
RETURNING id

-- name: enter_test
-- Enter a test of a person's service, which is a push without a snooze. Zero rows if another one waits, or the service is
-- not theirs.
INSERT INTO push_sends (device_id, account_id, scheduled_for, try_at, expires_at)
SELECT id, account_id, clock_timestamp(), clock_timestamp(), clock_timestamp() + INTERVAL '10 minutes'
FROM push_devices
WHERE id = :id
  AND account_id = :account_id
  AND service IS NOT NULL
ON CONFLICT (device_id) WHERE snooze_id IS NULL AND alarm_id IS NULL AND withdraws IS NULL AND state IN ('reserved', 'sending') DO NOTHING
RETURNING id

-- name: give_back
-- A claimed push was not begun: it is due as before.
UPDATE push_sends
SET claim_token = NULL,
    claimed_until = NULL
WHERE id = :id
  AND claim_token = :claim_token
  AND state = 'reserved'
RETURNING id

-- name: lock_keys
-- Serialize making the pair of keys that signs pushes.
SELECT pg_advisory_xact_lock(7266850)

-- name: mark
-- Authorise a claimed push, just before its request leaves. Zero rows if the claim is lost, or the device was removed
-- or taken over by another person.
UPDATE push_sends AS send
SET state = 'sending',
    marked_at = clock_timestamp(),
    claimed_until = clock_timestamp() + :lease
FROM push_devices AS device
WHERE send.id = :id
  AND send.claim_token = :claim_token
  AND send.state = 'reserved'
  AND send.claimed_until > clock_timestamp()
  AND device.id = send.device_id
  AND device.account_id = send.account_id
RETURNING send.id

-- name: prune
-- Delete pushes that ended more than 30 days ago.
DELETE FROM push_sends
WHERE id = ANY(ARRAY(
    SELECT id
    FROM push_sends
    WHERE created_at < CURRENT_TIMESTAMP - INTERVAL '30 days'
      AND state IN ('sent', 'failed', 'uncertain')
    ORDER BY created_at
    LIMIT :batch_size
))
RETURNING id

-- name: record
-- Record that the push service accepted a push: a fact, whatever the state of the claim. Repeating changes nothing.
WITH sent AS (
    UPDATE push_sends
    SET state = 'sent',
        status = :status,
        remote_id = COALESCE(:answer, remote_id),
        reason = NULL,
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = clock_timestamp()
    WHERE id = :id
      AND state IN ('sending', 'uncertain')
    RETURNING device_id, withdraws
)
UPDATE push_devices AS device
SET sent_at = CASE WHEN sent.withdraws IS NULL THEN clock_timestamp() ELSE device.sent_at END,
    problem = NULL,
    failures = 0,
    quiet_until = NULL
FROM sent
WHERE device.id = sent.device_id
RETURNING device.id

-- name: remove
-- Remove a person's device. Zero rows if this person has no such device.
DELETE FROM push_devices
WHERE id = :id
  AND account_id = :account_id
RETURNING id

-- name: replace_address
-- Replace the encrypted address of a service by the same one under a newer key of the ring, unless another process already
-- has.
UPDATE push_devices
SET address = :address
WHERE id = :id
  AND address = :known
RETURNING id

-- name: replace_private_key
-- Replace an encrypted private key by the same one under a newer key of the ring, unless another process already has.
UPDATE push_keys
SET private_key = :private_key
WHERE id = :id
  AND private_key = :known
RETURNING id

-- name: set_alarms
-- Choose whether a service gets alarms. Zero rows if this person has no such service.
UPDATE push_devices
SET tells_alarms = :tells_alarms
WHERE id = :id
  AND account_id = :account_id
  AND service IS NOT NULL
RETURNING id

-- name: set_subject
-- Choose whether pushes to a device show the subject. Zero rows if this person has no such device.
UPDATE push_devices
SET shows_subject = :shows_subject
WHERE id = :id
  AND account_id = :account_id
RETURNING id

-- name: subscribe
-- Add a device, or take over a device whose browser is subscribed already, by this person or by an earlier user:
-- knowing the secret proves possession of the browser. Returns its id; zero rows if the account has `most` others.
INSERT INTO push_devices (account_id, key_id, name, endpoint, public_key, auth_secret, shows_subject)
SELECT :account_id, :key_id, :label, :endpoint, :public_key, :auth_secret, :shows_subject
WHERE (
    SELECT count(*)
    FROM push_devices
    WHERE account_id = :account_id
      AND endpoint IS DISTINCT FROM :endpoint
) < :most
ON CONFLICT ON CONSTRAINT uq_push_devices_endpoint DO UPDATE
SET account_id = EXCLUDED.account_id,
    key_id = EXCLUDED.key_id,
    name = EXCLUDED.name,
    public_key = EXCLUDED.public_key,
    auth_secret = EXCLUDED.auth_secret,
    shows_subject = EXCLUDED.shows_subject,
    problem = NULL,
    failures = 0,
    quiet_until = NULL,
    sent_at = CASE WHEN push_devices.account_id = EXCLUDED.account_id THEN push_devices.sent_at END,
    created_at = CASE WHEN push_devices.account_id = EXCLUDED.account_id THEN push_devices.created_at ELSE now() END
WHERE push_devices.account_id = EXCLUDED.account_id
   OR push_devices.auth_secret = EXCLUDED.auth_secret
RETURNING id

-- name: sweep
-- End pushes that no sender will end: pushes that have expired, or whose device or person is gone, have failed; pushes
-- whose worker was lost after the mark are uncertain. Rows locked by another transaction are left for the next time.
WITH over AS MATERIALIZED (
    SELECT send.id
    FROM push_sends AS send
    WHERE (
          send.state = 'reserved'
          AND COALESCE(send.claimed_until <= CURRENT_TIMESTAMP, TRUE)
          AND (
              send.expires_at <= CURRENT_TIMESTAMP
              OR NOT EXISTS (
                  SELECT 1
                  FROM push_devices AS device
                  JOIN accounts ON accounts.id = device.account_id
                  WHERE device.id = send.device_id
                    AND device.account_id = send.account_id
                    AND accounts.disabled_at IS NULL
              )
          )
      )
       OR (send.state = 'sending' AND send.claimed_until <= CURRENT_TIMESTAMP)
    ORDER BY send.id
    LIMIT :batch_size
    FOR NO KEY UPDATE OF send SKIP LOCKED
)
UPDATE push_sends AS send
SET state = CASE WHEN send.state = 'sending' THEN 'uncertain' ELSE 'failed' END,
    reason = CASE
        WHEN send.state = 'sending' THEN 'worker lost'
        WHEN send.expires_at <= CURRENT_TIMESTAMP THEN 'too late'
        ELSE 'removed'
    END,
    claim_token = NULL,
    claimed_until = NULL,
    finished_at = clock_timestamp()
FROM over
WHERE send.id = over.id
RETURNING send.id
