-- Enter in the ledger that these promises had their reminders in digests that were sent. Promises of no digest are
-- ignored. The caller has locked their snoozes.
UPDATE reminder_sends AS send
SET state = 'sent',
    sent_at = lead.sent_at,
    resolution = 'digest',
    resolved_by = 'server',
    resolved_at = clock_timestamp()
FROM unnest(
    CAST(:snooze_ids AS bigint[]),
    CAST(:promises AS timestamptz[])
) AS kept (snooze_id, scheduled_for)
JOIN digest_members AS member ON member.snooze_id = kept.snooze_id AND member.scheduled_for = kept.scheduled_for
JOIN digests AS digest ON digest.id = member.digest_id
JOIN reminder_sends AS lead
  ON lead.snooze_id = digest.snooze_id
 AND lead.scheduled_for = digest.scheduled_for
 AND lead.channel = 'email'
WHERE send.snooze_id = kept.snooze_id
  AND send.scheduled_for = kept.scheduled_for
  AND send.channel = 'email'
  AND send.state <> 'sent'
  AND lead.state = 'sent'
RETURNING send.snooze_id
