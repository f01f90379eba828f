-- Fill in the subject and the sender of live snoozes whose programs gave none; each keeps what it has, and its promise.
UPDATE email_snoozes AS snooze
SET subject = COALESCE(snooze.subject, found.subject),
    sender_email = COALESCE(snooze.sender_email, found.sender_email),
    updated_at = CURRENT_TIMESTAMP
FROM jsonb_populate_recordset(CAST(NULL AS email_snoozes), CAST(:found AS jsonb)) AS found
WHERE snooze.id = found.id
  AND NOT snooze.inactive
  AND (
      (snooze.subject IS NULL AND found.subject IS NOT NULL)
      OR (snooze.sender_email IS NULL AND found.sender_email IS NOT NULL)
  )
