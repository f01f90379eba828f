-- Promises with more than one send.
CREATE OR REPLACE VIEW invariant_one_send_per_promise AS
SELECT
    min(snooze_id) AS snooze_id,
    min(id) AS send_id,
    scheduled_for AS since,
    count(*) || ' sends for one promise' AS what
FROM (
    SELECT id, snooze_id, user_email, message_id, scheduled_for, channel FROM reminder_sends
    UNION ALL
    SELECT id, snooze_id, user_email, message_id, scheduled_for, channel FROM reminder_sends_archive
) AS sends
GROUP BY user_email, message_id, scheduled_for, channel
HAVING count(*) > 1;
