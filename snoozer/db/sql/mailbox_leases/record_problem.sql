-- Record that the mailbox cannot be used, and since when. With `pause`, it is left alone until its owner enters another
-- password, or for an hour.
WITH before AS (
    SELECT id, state
    FROM mailboxes
    WHERE id = :id
      AND fence = :fence
    FOR NO KEY UPDATE
)
UPDATE mailboxes AS mailbox
SET problem = :problem,
    problem_since = CASE WHEN mailbox.problem IS NOT NULL THEN mailbox.problem_since ELSE clock_timestamp() END,
    state = CASE WHEN :pause AND before.state = 'active' THEN 'paused' ELSE before.state END,
    owner = CASE WHEN NOT :pause THEN mailbox.owner END,
    owned_until = CASE WHEN NOT :pause THEN mailbox.owned_until END,
    tried_at = clock_timestamp(),
    updated_at = CURRENT_TIMESTAMP
FROM before
WHERE mailbox.id = before.id
RETURNING mailbox.state, mailbox.problem_since, :pause AND before.state = 'active' AS newly_paused
