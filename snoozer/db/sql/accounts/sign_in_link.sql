-- The state of a sign-in link in this browser, without using it.
SELECT
    used_at IS NOT NULL AS used,
    expires_at <= clock_timestamp() AS expired,
    browser_hash IS NULL OR browser_hash = COALESCE(CAST(:browser_hash AS text), '') AS this_browser
FROM sign_ins
WHERE token_hash = :token_hash
