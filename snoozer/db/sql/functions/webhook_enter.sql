-- Enter an event for each endpoint of the person that wants it.
CREATE OR REPLACE FUNCTION webhook_enter(person text, event text, snooze bigint, repeats boolean, promise timestamp with time zone, remind_at timestamp with time zone, reference text, subject text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO webhook_deliveries (
        endpoint_id, account_id, event, snooze_id, repeats, scheduled_for, remind_at, reference, subject
    )
    SELECT
        endpoint.id, endpoint.account_id, webhook_enter.event, webhook_enter.snooze, webhook_enter.repeats,
        webhook_enter.promise, webhook_enter.remind_at, webhook_enter.reference,
        CASE WHEN endpoint.shows_subject THEN webhook_enter.subject END
    FROM accounts
    JOIN webhook_endpoints AS endpoint ON endpoint.account_id = accounts.id
    WHERE accounts.email = lower(person)
      AND accounts.disabled_at IS NULL
      AND endpoint.is_on
      AND webhook_enter.event = ANY(endpoint.events)
    ORDER BY endpoint.id
    ON CONFLICT DO NOTHING;
END
$$;
