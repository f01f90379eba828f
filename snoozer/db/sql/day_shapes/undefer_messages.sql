-- The owner's day changed: messages that a rest deferred return at their promised times, unless they still wait for the
-- end of the present rest.
UPDATE messages
SET deferred_until = NULL
WHERE user_email = :user_email
  AND returns_at IS NOT NULL
  AND deferred_until > CURRENT_TIMESTAMP
  AND deferred_until IS DISTINCT FROM CAST(:rest_until AS timestamptz)
