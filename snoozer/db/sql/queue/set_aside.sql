-- Set claims aside that a pause of operators holds back: inactive, without an outcome, for that pause. No attempt is
-- used, and neither the promise nor the next time moves; fenced by the claim token. A pause that has ended sets no row
-- aside; a pause that is being ended is locked and skipped, and so are rows locked by another transaction: they and
-- claims no longer owned are missing from the result.
WITH locked AS MATERIALIZED (
    SELECT snooze.id, pause.id AS pause_id
    FROM unnest(
        CAST(:ids AS bigint[]),
        CAST(:claim_tokens AS uuid[]),
        CAST(:pause_ids AS bigint[])
    ) AS requested (id, claim_token, pause_id)
    JOIN email_snoozes AS snooze ON snooze.id = requested.id
    JOIN pauses AS pause ON pause.id = requested.pause_id
    WHERE snooze.claim_token = requested.claim_token
      AND pause.ended_at IS NULL
    FOR SHARE OF pause SKIP LOCKED
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    inactive = TRUE,
    paused_by = locked.pause_id,
    updated_at = CURRENT_TIMESTAMP
FROM locked
WHERE snooze.id = locked.id
RETURNING snooze.id
