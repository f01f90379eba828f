-- Lock these entries before they change. Entries locked by another transaction are skipped, and missing from the
-- result.
WITH locked AS MATERIALIZED (
    SELECT reminder_message_id
    FROM reminder_sends
    WHERE reminder_message_id = ANY(:reminder_message_ids)
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT reminder_message_id FROM locked
