-- Withdraw the notices of a message, on the services that gave their ids: enter a push for each.
CREATE OR REPLACE FUNCTION push_withdraw(person text, message text) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO push_sends (device_id, account_id, withdraws, scheduled_for, try_at, expires_at)
    SELECT
        shown.device_id, shown.account_id, shown.id, shown.scheduled_for, clock_timestamp(),
        clock_timestamp() + INTERVAL '4 hours'
    FROM accounts AS account
    JOIN push_sends AS shown ON shown.account_id = account.id
    JOIN email_snoozes AS snooze ON snooze.id = shown.snooze_id
    WHERE account.email = lower(person)
      AND shown.remote_id IS NOT NULL
      AND shown.state = 'sent'
      AND snooze.user_email = person
      AND snooze.message_id = message
    ORDER BY shown.id
    ON CONFLICT ON CONSTRAINT uq_push_sends_withdraws DO NOTHING
$$;
