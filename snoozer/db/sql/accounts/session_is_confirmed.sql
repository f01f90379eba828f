-- Whether the person of a session confirmed their identity a short while ago.
SELECT confirmed_at > clock_timestamp() - :within AS confirmed
FROM sessions
WHERE token_hash = :token_hash
