-- Finished rows whose send is missing.
CREATE OR REPLACE VIEW invariant_finished_has_its_send AS
SELECT
    snooze.id AS snooze_id,
    NULL::bigint AS send_id,
    snooze.finished_at AS since,
    'finished as sent, and the ledger has no such send' AS what
FROM (
    SELECT id, user_email, message_id, scheduled_for, finished_at, outcome FROM email_snoozes
    UNION ALL
    SELECT id, user_email, message_id, scheduled_for, finished_at, outcome FROM email_snoozes_archive
) AS snooze
WHERE snooze.outcome = 'sent'
  AND NOT EXISTS (
      SELECT 1
      FROM reminder_sends AS send
      WHERE (send.user_email, send.message_id, send.scheduled_for)
          = (snooze.user_email, snooze.message_id, snooze.scheduled_for)
        AND send.state = 'sent'
        AND (send.channel = 'email' OR send.resolution = 'alone')
  )
  AND NOT EXISTS (
      SELECT 1
      FROM reminder_sends_archive AS send
      WHERE (send.user_email, send.message_id, send.scheduled_for)
          = (snooze.user_email, snooze.message_id, snooze.scheduled_for)
        AND send.state = 'sent'
        AND (send.channel = 'email' OR send.resolution = 'alone')
  );
