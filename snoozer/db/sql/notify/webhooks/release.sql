-- A delivery was not accepted: it is tried again after `delay`, until `retry_for` is over, and its endpoint is left
-- alone for `pause`. The endpoint is switched off if it is `gone`, or if it accepted no delivery since this one was
-- first tried and `retry_for` is over. Returns whether it is on; zero rows if the claim is lost.
WITH endpoint AS MATERIALIZED (
    SELECT id, is_on, delivered_at
    FROM webhook_endpoints
    WHERE id = :endpoint_id
    FOR NO KEY UPDATE
),
failed AS (
    UPDATE webhook_deliveries AS delivery
    SET state = CASE
            WHEN :gone OR NOT endpoint.is_on OR clock_timestamp() + :delay >= delivery.first_tried_at + :retry_for
            THEN 'failed'
            ELSE 'waiting'
        END,
        finished_at = CASE
            WHEN :gone OR NOT endpoint.is_on OR clock_timestamp() + :delay >= delivery.first_tried_at + :retry_for
            THEN clock_timestamp()
        END,
        attempts = delivery.attempts + 1,
        status = :status,
        reason = :reason,
        answer = :answer,
        answer_ms = :answer_ms,
        try_at = clock_timestamp() + :delay,
        claim_token = NULL,
        claimed_until = NULL
    FROM endpoint
    WHERE delivery.id = :id
      AND delivery.endpoint_id = endpoint.id
      AND delivery.claim_token = :claim_token
      AND delivery.state = 'waiting'
    RETURNING
        delivery.endpoint_id,
        endpoint.is_on
            AND NOT :gone
            AND (delivery.state = 'waiting' OR COALESCE(endpoint.delivered_at >= delivery.first_tried_at, FALSE))
            AS stays_on
)
UPDATE webhook_endpoints AS endpoint
SET failures = endpoint.failures + 1,
    quiet_until = clock_timestamp() + :pause,
    answer_ms = COALESCE(CAST(:answer_ms AS integer), endpoint.answer_ms),
    is_on = failed.stays_on,
    off_reason = CASE
        WHEN NOT failed.stays_on THEN COALESCE(endpoint.off_reason, CASE WHEN :gone THEN 'gone' ELSE 'failing' END)
    END,
    off_at = CASE WHEN NOT failed.stays_on THEN COALESCE(endpoint.off_at, clock_timestamp()) END,
    notice_at = CASE WHEN endpoint.is_on AND NOT failed.stays_on THEN clock_timestamp() ELSE endpoint.notice_at END
FROM failed
WHERE endpoint.id = failed.endpoint_id
RETURNING endpoint.is_on
