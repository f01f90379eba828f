-- The id of the delivery that an endpoint gets next, or NULL.
CREATE OR REPLACE FUNCTION webhook_next(endpoint bigint) RETURNS bigint
    LANGUAGE plpgsql
    STABLE COST 1000
    AS $$
DECLARE
    most CONSTANT INTEGER := 20;
    looked_at INTEGER;
    next_one BIGINT;
BEGIN
    WITH due AS MATERIALIZED (
        SELECT delivery.id, delivery.snooze_id, delivery.try_at
        FROM webhook_deliveries AS delivery
        WHERE delivery.endpoint_id = webhook_next.endpoint
          AND delivery.state = 'waiting'
          AND delivery.try_at <= CURRENT_TIMESTAMP
          AND COALESCE(delivery.claimed_until <= CURRENT_TIMESTAMP, TRUE)
        ORDER BY delivery.try_at, delivery.id
        LIMIT most
    )
    SELECT
        (SELECT count(*) FROM due),
        (
            SELECT due.id
            FROM due
            WHERE COALESCE(
                NOT EXISTS (
                    SELECT 1
                    FROM webhook_deliveries AS before
                    WHERE before.endpoint_id = webhook_next.endpoint
                      AND before.snooze_id = due.snooze_id
                      AND before.id < due.id
                      AND before.state = 'waiting'
                ),
                FALSE
            )
            ORDER BY due.try_at, due.id
            LIMIT 1
        )
    INTO looked_at, next_one;
    IF next_one IS NULL AND looked_at = most THEN
        SELECT line.id
        INTO next_one
        FROM (
            SELECT
                delivery.id,
                delivery.try_at,
                delivery.claimed_until,
                min(delivery.id) OVER (PARTITION BY COALESCE(delivery.snooze_id, -delivery.id)) AS head
            FROM webhook_deliveries AS delivery
            WHERE delivery.endpoint_id = webhook_next.endpoint
              AND delivery.state = 'waiting'
        ) AS line
        WHERE line.id = line.head
          AND line.try_at <= CURRENT_TIMESTAMP
          AND COALESCE(line.claimed_until <= CURRENT_TIMESTAMP, TRUE)
        ORDER BY line.try_at, line.id
        LIMIT 1;
    END IF;
    RETURN next_one;
END
$$;
