-- Claim snoozes that were read ahead, in the transaction that authorises their dots, a little before they are due.
-- A row that has changed since, in whatever column, or that another transaction has locked, is left out: it is claimed
-- by queue/claim.sql once it is due. The tokens come from the reading (peek/upcoming.sql). The commit waits for the
-- disk, as the dot leaves by it.
WITH given AS MATERIALIZED (
    SELECT read.*
    FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[]), CAST(:versions AS text[]))
        AS read (id, claim_token, version)
),
upcoming AS MATERIALIZED (
    SELECT snooze.id, given.claim_token
    FROM given
    JOIN email_snoozes AS snooze ON snooze.id = given.id
    WHERE CAST(snooze.xmin AS text) = given.version
      AND snooze.claimed_at IS NULL
      AND NOT snooze.inactive
      AND (CAST(:any_timeline AS boolean) OR snooze_timeline_is_accepted())
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = CURRENT_TIMESTAMP,
    claimed_by = :worker,
    claim_token = upcoming.claim_token,
    lease_expires_at = CURRENT_TIMESTAMP + :lease,
    scheduled_for = snooze_promise(snooze),
    updated_at = CURRENT_TIMESTAMP
FROM upcoming
WHERE snooze.id = upcoming.id
RETURNING snooze.id, snooze.claim_token
