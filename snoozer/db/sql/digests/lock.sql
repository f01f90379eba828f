-- Lock the promises whose reminders are these people's digests, unless a worker has claimed them; returns the digests.
-- Read the state of their sends after that: until this transaction ends, none of them is reserved or marked.
WITH unclaimed AS MATERIALIZED (
    SELECT digest.id
    FROM digests AS digest
    JOIN accounts AS account ON account.id = digest.account_id
    JOIN email_snoozes AS snooze ON snooze.id = digest.snooze_id
    WHERE account.email = ANY(CAST(:people AS text[]))
      AND digest.settled_at IS NULL
      AND snooze.claim_token IS NULL
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
SELECT id FROM unclaimed
