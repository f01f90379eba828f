-- Claim the push that has been due the longest, of a person for whom none is on its way, so that silent devices of one
-- person do not keep others waiting. Rows locked by another transaction are skipped, and so are pushes that operators
-- have paused. Rows are read in order until one fits; the other due rows are neither read nor sorted. The conditions
-- are therefore subqueries, not joins, and COALESCE keeps the planner from expecting that hardly any row fits.
WITH due AS MATERIALIZED (
    SELECT send.id
    FROM push_sends AS send
    WHERE send.state = 'reserved'
      AND send.try_at <= CURRENT_TIMESTAMP
      AND send.expires_at > CURRENT_TIMESTAMP
      AND COALESCE(send.claimed_until <= CURRENT_TIMESTAMP, TRUE)
      AND COALESCE(
          send.account_id <> ALL (
              ARRAY(
                  SELECT busy.account_id
                  FROM push_sends AS busy
                  WHERE busy.state IN ('reserved', 'sending')
                    AND busy.claimed_until > CURRENT_TIMESTAMP
              )
          ),
          FALSE
      )
      AND COALESCE(
          send.account_id = (
              SELECT device.account_id
              FROM push_devices AS device
              JOIN accounts ON accounts.id = device.account_id
              WHERE device.id = send.device_id
                AND accounts.disabled_at IS NULL
          ),
          FALSE
      )
      AND COALESCE(
          send.alarm_id IS NOT NULL
          OR NOT EXISTS (SELECT 1 FROM pauses WHERE ended_at IS NULL)
          OR (
              SELECT snooze_pause(accounts.email, snooze.priority, 'push') IS NULL
              FROM accounts
              LEFT JOIN email_snoozes AS snooze ON snooze.id = send.snooze_id
              WHERE accounts.id = send.account_id
          ),
          FALSE
      )
    ORDER BY send.try_at, send.id
    LIMIT 1
    FOR NO KEY UPDATE OF send SKIP LOCKED
)
UPDATE push_sends AS send
SET claim_token = gen_random_uuid(),
    claimed_until = clock_timestamp() + :lease
FROM due
JOIN push_sends AS its ON its.id = due.id
JOIN push_devices AS device ON device.id = its.device_id
LEFT JOIN push_keys AS signing ON signing.id = device.key_id
JOIN accounts ON accounts.id = device.account_id
LEFT JOIN email_snoozes AS snooze ON snooze.id = its.snooze_id
LEFT JOIN alarms AS alarm ON alarm.id = its.alarm_id
LEFT JOIN push_sends AS shown ON shown.id = its.withdraws
WHERE send.id = due.id
RETURNING
    send.id,
    send.claim_token,
    send.device_id,
    send.snooze_id,
    send.scheduled_for,
    send.attempts,
    GREATEST(1, CAST(extract(epoch FROM send.expires_at - clock_timestamp()) AS integer)) AS seconds_left,
    COALESCE(device.endpoint, '') AS endpoint,
    COALESCE(device.public_key, '') AS public_key,
    COALESCE(device.auth_secret, '') AS auth_secret,
    device.failures,
    COALESCE(device.key_id, 0) AS key_id,
    COALESCE(signing.private_key, '') AS signing_key,
    COALESCE(device.service, '') AS service,
    COALESCE(device.address, '') AS address,
    accounts.locale,
    alarm.sentence AS alarm,
    shown.remote_id AS withdraws,
    COALESCE(its.alarm_ended, FALSE) AS alarm_ended,
    CASE WHEN device.shows_subject THEN snooze.subject END AS subject
