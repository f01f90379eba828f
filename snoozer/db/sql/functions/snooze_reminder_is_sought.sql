-- Whether the mailbox of the recipient is searched for an uncertain reminder before it is sent again.
CREATE OR REPLACE FUNCTION snooze_reminder_is_sought(recipient text, uncertain_at timestamp with time zone, hold interval) RETURNS boolean
    LANGUAGE sql
    STABLE
    AS $$
    SELECT uncertain_at > clock_timestamp() - 2 * hold - INTERVAL '1 hour'
        AND EXISTS (
            SELECT 1
            FROM accounts AS account
            JOIN mailboxes AS mailbox ON mailbox.account_id = account.id
            WHERE account.email = recipient
              AND account.disabled_at IS NULL
              AND lower(mailbox.address) = snooze_recipient(account.email)
              AND mailbox.state = 'active'
              AND mailbox.problem IS NULL
              AND mailbox.synced_at IS NOT NULL
              AND mailbox.owned_until > clock_timestamp()
        )
$$;
