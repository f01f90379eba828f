-- Lock one live row, the first that is or becomes due, until the transaction ends.
SELECT message_id FROM email_snoozes WHERE NOT inactive ORDER BY remind_at, id LIMIT 1 FOR UPDATE
