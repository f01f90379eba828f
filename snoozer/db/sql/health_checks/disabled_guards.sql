-- Constraints and triggers that hold the invariants and are disabled or missing.
SELECT name
FROM unnest(ARRAY[
    'uq_reminder_sends_promise', 'uq_reminder_sends_reminder_message_id', 'uq_email_snoozes_live'
]) AS name
WHERE NOT EXISTS (
    SELECT 1
    FROM pg_index
    WHERE indexrelid = to_regclass(name)
      AND indisunique
      AND indisvalid
)
UNION ALL
SELECT name
FROM unnest(ARRAY['reminder_sends_keep_sent', 'email_snoozes_fill_bucket']) AS name
WHERE NOT EXISTS (SELECT 1 FROM pg_trigger WHERE tgname = name AND tgenabled IN ('O', 'A'))
