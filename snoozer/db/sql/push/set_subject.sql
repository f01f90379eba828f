-- Choose whether pushes to a device show the subject. Zero rows if this person has no such device.
UPDATE push_devices
SET shows_subject = :shows_subject
WHERE id = :id
  AND account_id = :account_id
RETURNING id
