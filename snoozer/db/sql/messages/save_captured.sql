-- Save a message that the mail sink accepted.
INSERT INTO sink_messages (mail_from, rcpt_to, original)
VALUES (:mail_from, :rcpt_to, :original)
RETURNING id
