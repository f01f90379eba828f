-- Release lapsed claims that this transaction has locked. A send whose dot was authorised becomes uncertain and waits
-- out the hold. The row is retired after max_crashes lost workers, or if no resend is allowed.
WITH lapsed AS MATERIALIZED (
    SELECT id, claim_token, claimed_by, crash_count
    FROM email_snoozes
    WHERE id = ANY(:ids)
),
marked_uncertain AS (
    UPDATE reminder_sends AS send
    SET state = 'uncertain',
        uncertain_at = clock_timestamp()
    FROM lapsed
    WHERE send.snooze_id = lapsed.id
      AND send.claim_token = lapsed.claim_token
      AND send.state = 'sending'
    RETURNING send.snooze_id, send.resends
),
decided AS (
    SELECT
        lapsed.id,
        lapsed.claimed_by,
        marked_uncertain.snooze_id IS NOT NULL AS uncertain,
        CASE
            WHEN marked_uncertain.resends >= :max_resends THEN :error_exhausted
            WHEN marked_uncertain.snooze_id IS NOT NULL AND :hold_for_operator THEN :error_held
            WHEN marked_uncertain.snooze_id IS NOT NULL THEN :error_uncertain
            ELSE :error_lost
        END AS error,
        (marked_uncertain.snooze_id IS NOT NULL AND (marked_uncertain.resends >= :max_resends OR :hold_for_operator))
            OR lapsed.crash_count >= :max_crashes - 1 AS retires,
        CASE WHEN marked_uncertain.snooze_id IS NULL THEN :delay ELSE :hold END AS delay
    FROM lapsed
    LEFT JOIN marked_uncertain ON marked_uncertain.snooze_id = lapsed.id
)
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    crash_count = LEAST(snooze.crash_count, 1000000) + 1,
    last_error = decided.error,
    last_error_at = CURRENT_TIMESTAMP,
    remind_at = GREATEST(snooze.remind_at, CURRENT_TIMESTAMP + decided.delay),
    inactive = decided.retires,
    outcome = CASE WHEN decided.retires THEN 'retired' END,
    finished_at = CASE WHEN decided.retires THEN CURRENT_TIMESTAMP END,
    updated_at = CURRENT_TIMESTAMP
FROM decided
WHERE snooze.id = decided.id
RETURNING snooze.id, decided.claimed_by AS worker, decided.uncertain, snooze.outcome IS NOT NULL AS retired
