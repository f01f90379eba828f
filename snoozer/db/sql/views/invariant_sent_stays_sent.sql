-- Rows that are tried again although their reminder was sent.
CREATE OR REPLACE VIEW invariant_sent_stays_sent AS
SELECT
    snooze_id,
    id AS send_id,
    COALESCE(sent_at, reserved_at) AS since,
    CASE
        WHEN state <> 'sent' THEN 'was sent, and is ' || state
        WHEN sent_at IS NULL THEN 'sent, and nobody knows when'
        ELSE 'sent, without a reply that says so or anybody who decided it'
    END AS what
FROM (
    SELECT id, snooze_id, state, sent_at, reserved_at, smtp_code, resolution FROM reminder_sends
    UNION ALL
    SELECT id, snooze_id, state, sent_at, reserved_at, smtp_code, resolution FROM reminder_sends_archive
) AS sends
WHERE (state <> 'sent' AND sent_at IS NOT NULL)
   OR (state = 'sent' AND sent_at IS NULL)
   OR (state = 'sent' AND smtp_code IS DISTINCT FROM 250 AND resolution IS NULL);
