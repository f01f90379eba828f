-- The browsers in which a person is signed in, this one first.
SELECT
    id,
    device,
    created_at,
    seen_at,
    token_hash = :token_hash AS is_current
FROM sessions
WHERE account_id = :account_id
  AND expires_at > clock_timestamp()
  AND seen_at > clock_timestamp() - INTERVAL '14 days'
ORDER BY is_current DESC, seen_at DESC, id DESC
LIMIT :max_sessions
