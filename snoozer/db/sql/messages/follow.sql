-- A message was moved on a page, from home to another folder or back: its entry follows it, so that a recurring snooze
-- returns it from there.
UPDATE messages
SET place = :place,
    wanted = :place,
    aside = CASE WHEN :place = 'aside' THEN :new_folder ELSE aside END,
    folder = :new_folder,
    uidvalidity = :new_uidvalidity,
    uid = :new_uid,
    updated_at = CURRENT_TIMESTAMP
WHERE mailbox_id = :mailbox_id
  AND folder = :folder
  AND uidvalidity = :uidvalidity
  AND uid = :uid
  AND moving_to IS NULL
  AND place IN ('home', 'aside')
  AND wanted = place
RETURNING id
