-- Messages that lie in a Snoozer folder, or did until they went missing.
SELECT
    id, user_email, message_id, header_id, fingerprint, size, internal_date, home, aside, place, wanted, folder, uidvalidity, uid,
    missing_since, moving_to, target_folder, target_uidvalidity, target_uidnext, returns_at, snooze_id,
    COALESCE(GREATEST(returns_at, deferred_until) <= clock_timestamp(), FALSE)
        AND (SELECT until FROM snooze_deferral(user_email, snooze_id, returns_at)) IS NULL AS is_due
FROM messages
WHERE mailbox_id = :mailbox_id
  AND place IN ('snoozed', 'missing')
  AND moving_to IS NULL
ORDER BY uid
