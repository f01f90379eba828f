-- Locked snoozes as an act finds them. It runs after `lock_chosen`, because only a later statement sees every mark of a
-- dot: marking needs the row's lock. `send_state` is that of the reminder of the present promise, also of a case in the
-- archive; `in_flight` is true while any reminder of the row, or a digest that lists it, may still arrive. A reminder that
-- was uncertain and is sent again has its first bytes, so it is a copy from before the act.
SELECT
    snooze.*,
    snooze_promise(snooze) AS promise,
    snooze.inactive AND snooze.outcome IS NULL AND snooze.paused_by IS NULL AS paused,
    snooze.claimed_at IS NOT NULL AS is_claimed,
    CASE
        WHEN send.id IS NULL
            AND snooze.outcome = 'retired'
            AND snooze_archived_send(snooze.user_email, snooze.message_id, snooze_promise(snooze)) IS NOT NULL
        THEN 'sent'
        ELSE send.state
    END AS send_state,
    send.uncertain_at,
    (send.state = 'failed' AND send.uncertain_at IS NOT NULL AND send.bytes_sha256 IS NOT NULL) IS TRUE
    OR EXISTS (
        SELECT 1
        FROM reminder_sends AS other
        WHERE other.snooze_id = snooze.id
          AND other.channel = 'email'
          AND other.state IN ('sending', 'uncertain')
    ) OR EXISTS (
        SELECT 1
        FROM digest_members AS member
        JOIN digests AS digest ON digest.id = member.digest_id
        JOIN reminder_sends AS lead
          ON lead.snooze_id = digest.snooze_id
         AND lead.scheduled_for = digest.scheduled_for
         AND lead.channel = 'email'
        WHERE member.snooze_id = snooze.id
          AND lead.state IN ('sending', 'uncertain')
    ) AS in_flight,
    (
        SELECT other.created_at
        FROM email_snoozes AS other
        WHERE other.user_email = snooze.user_email
          AND other.message_id = snooze.message_id
          AND other.id <> snooze.id
          AND NOT other.inactive
    ) AS snoozed_again_at
FROM email_snoozes AS snooze
LEFT JOIN reminder_sends AS send
  ON send.user_email = snooze.user_email
 AND send.message_id = snooze.message_id
 AND send.scheduled_for = snooze_promise(snooze)
 AND send.channel = 'email'
WHERE snooze.id = ANY(:ids)
ORDER BY snooze.id
