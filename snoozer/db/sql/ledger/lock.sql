-- Lock these entries before they change. Those that another transaction has locked are skipped, and missing from the
-- result.
WITH locked AS MATERIALIZED (
    SELECT reminder_message_id
    FROM reminder_sends
    WHERE id = ANY(:ids)
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT reminder_message_id FROM locked
