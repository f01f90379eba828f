-- Replace a mailbox's password or refresh token, which ends its pause and clears its problem; a mailbox that is leaving
-- goes on leaving. The process that owns it loses it, and a process takes it again with the new secret. Zero rows: this
-- person has no such mailbox.
UPDATE mailboxes
SET login_method = :login_method,
    secret = :secret,
    state = CASE state WHEN 'leaving' THEN 'leaving' ELSE 'active' END,
    problem = NULL,
    problem_since = NULL,
    owner = NULL,
    owned_until = NULL,
    fence = fence + 1,
    updated_at = CURRENT_TIMESTAMP
WHERE id = :id
  AND account_id = :account_id
RETURNING id
