-- Delete the pauses of a person whose account is deleted, and of their address.
DELETE FROM pauses
WHERE kind IN ('person', 'invalid')
  AND value = lower(:user_email)
RETURNING id
