-- Give messages of a trial's sample week the times that they are dated, in place of the moment they came in.
UPDATE messages
SET arrived_at = sent_at,
    surfaced_at = sent_at
WHERE is_kept
  AND user_email = :user_email
  AND message_id = ANY(CAST(:message_ids AS text[]))
  AND sent_at < arrived_at
  AND NOT returned
