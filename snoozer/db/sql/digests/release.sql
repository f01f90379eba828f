-- An operator reactivated these cases: they have reminders of their own again.
DELETE FROM digest_members
WHERE snooze_id = ANY(:ids)
