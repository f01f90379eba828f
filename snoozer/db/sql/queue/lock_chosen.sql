-- Lock snoozes for an act, in the order of their ids, so that two transactions that lock many wait for each
-- other and do not deadlock. They are chosen by their ids, or as the live snoozes of these messages.
SELECT id
FROM email_snoozes
WHERE (CAST(:user_email AS text) IS NULL OR user_email = :user_email)
  AND (
      id = ANY(CAST(:ids AS bigint[]))
      OR (message_id = ANY(CAST(:message_ids AS text[])) AND NOT inactive)
  )
ORDER BY id
FOR NO KEY UPDATE
