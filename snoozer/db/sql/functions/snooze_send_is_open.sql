-- Whether another mail may be sent for this entry of the ledger: it was not sent, no copy of it is on its way, and if it
-- is uncertain, the policy allows one more copy now.
CREATE OR REPLACE FUNCTION snooze_send_is_open(send reminder_sends, hold interval, hold_for_operator boolean, max_resends integer, lookups integer, only_connected boolean) RETURNS boolean
    LANGUAGE sql
    STABLE
    AS $$
    SELECT send.state NOT IN ('sending', 'sent', 'uncertain')
        OR (
            send.state = 'uncertain'
            AND NOT hold_for_operator
            AND send.resends < max_resends
            AND send.uncertain_at <= CURRENT_TIMESTAMP - hold
            AND (
                send.looks >= lookups
                OR (only_connected AND NOT snooze_reminder_is_sought(send.user_email, send.uncertain_at, hold))
            )
        )
$$;
