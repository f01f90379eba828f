-- A push did not reach the push service, was not accepted, or got no answer. If it was marked and has no `status`, it is
-- uncertain: it may have been accepted, and is not sent again. If it `ends` or its device is `gone`, it has failed; a
-- device that is gone is removed, another one shows the reason, unless operators switched its service off. Otherwise it is tried again after `delay`, unless it
-- expires before; its device and the other pushes for it wait for `pause`. Returns whether the device is left; zero rows
-- if the claim is lost.
WITH held AS MATERIALIZED (
    SELECT
        id,
        device_id,
        state = 'sending' AND CAST(:status AS integer) IS NULL AS is_unanswered,
        expires_at <= clock_timestamp() + :delay AS is_late
    FROM push_sends
    WHERE id = :id
      AND claim_token = :claim_token
      AND state IN ('reserved', 'sending')
    FOR NO KEY UPDATE
),
outcome AS (
    SELECT
        id,
        device_id,
        CASE WHEN is_unanswered THEN 'uncertain' WHEN :ends OR :gone OR is_late THEN 'failed' ELSE 'reserved' END AS state,
        (:ends OR :gone) AND NOT is_unanswered AS is_refused
    FROM held
),
released AS (
    UPDATE push_sends AS send
    SET state = outcome.state,
        reason = :reason,
        status = :status,
        attempts = send.attempts + 1,
        try_at = clock_timestamp() + :delay,
        claim_token = NULL,
        claimed_until = NULL,
        finished_at = CASE WHEN outcome.state <> 'reserved' THEN clock_timestamp() END
    FROM outcome
    WHERE send.id = outcome.id
),
removed AS (
    DELETE FROM push_devices AS device
    USING outcome
    WHERE device.id = outcome.device_id
      AND :gone
),
refused AS (
    UPDATE push_devices AS device
    SET problem = NULLIF(:reason, 'off')
    FROM outcome
    WHERE device.id = outcome.device_id
      AND outcome.is_refused
      AND NOT :gone
),
quiet AS (
    UPDATE push_devices AS device
    SET failures = device.failures + 1,
        quiet_until = clock_timestamp() + :pause
    FROM outcome
    WHERE device.id = outcome.device_id
      AND NOT outcome.is_refused
),
others AS (
    UPDATE push_sends AS other
    SET try_at = GREATEST(other.try_at, clock_timestamp() + :pause)
    FROM outcome
    WHERE other.device_id = outcome.device_id
      AND other.id <> outcome.id
      AND other.state = 'reserved'
      AND NOT outcome.is_refused
)
SELECT NOT :gone AS is_left
FROM outcome
