-- Have the messages of live snoozes searched for in the active mailboxes of their owners, unless they are known. An id
-- that no message can have, or that Snoozer made up, is not searched for.
CREATE OR REPLACE FUNCTION mailbox_searches_enter(ids bigint[]) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO mailbox_searches (mailbox_id, snooze_id)
    SELECT mailbox.id, snooze.id
    FROM email_snoozes AS snooze
    JOIN accounts AS account ON account.email = lower(snooze.user_email)
    JOIN mailboxes AS mailbox ON mailbox.account_id = account.id
    WHERE snooze.id = ANY(ids)
      AND NOT snooze.inactive
      AND snooze.message_id LIKE '<_%>'
      AND snooze.message_id NOT LIKE '%.invalid>'
      AND mailbox.state = 'active'
      AND NOT EXISTS (
          SELECT 1
          FROM messages AS known
          WHERE known.snooze_id = snooze.id
      )
    ON CONFLICT DO NOTHING
$$;

REVOKE ALL ON FUNCTION mailbox_searches_enter(bigint[]) FROM PUBLIC;
