-- Restore the folder and marks that kept messages had before an act on many of them, for their owner. A message that
-- was moved elsewhere since stays there.
UPDATE messages AS kept
SET folder = was.folder,
    unread = was.unread,
    returned = was.returned
FROM jsonb_to_recordset(CAST(:before AS jsonb)) AS was (
    id bigint, folder text, unread boolean, returned boolean, became text
)
WHERE kept.id = was.id
  AND kept.is_kept
  AND kept.user_email = :user_email
  AND (kept.folder = was.became OR (kept.folder = 'inbox' AND was.folder = 'snoozed'))
  AND (was.folder <> 'snoozed' OR kept.returns_at IS NOT NULL)
RETURNING kept.id, kept.message_id
