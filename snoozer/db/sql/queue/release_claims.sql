-- Take claims back, for an operator: claims of workers that are not alive, and with `of_the_living` of any worker.
-- Their tokens become invalid, so they authorise no more dots; a send that was marked is uncertain, and waits out its
-- hold. No attempt is used. The rows are locked by the transaction, so no mark comes in between.
WITH held AS MATERIALIZED (
    SELECT snooze.id, snooze.claim_token, snooze.claimed_by
    FROM email_snoozes AS snooze
    LEFT JOIN workers ON workers.id = snooze.claimed_by
    WHERE snooze.id = ANY(:ids)
      AND snooze.claimed_at IS NOT NULL
      AND (CAST(:of_the_living AS boolean) OR workers.id IS NULL OR workers.state = 'dead')
),
marked_uncertain AS (
    UPDATE reminder_sends AS send
    SET state = 'uncertain',
        uncertain_at = clock_timestamp()
    FROM held
    WHERE send.snooze_id = held.id
      AND send.claim_token = held.claim_token
      AND send.state = 'sending'
    RETURNING send.snooze_id
)
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    last_error = CASE WHEN marked.snooze_id IS NULL THEN :error_released ELSE :error_uncertain END,
    last_error_at = CURRENT_TIMESTAMP,
    updated_at = CURRENT_TIMESTAMP
FROM held
LEFT JOIN marked_uncertain AS marked ON marked.snooze_id = held.id
WHERE snooze.id = held.id
RETURNING snooze.id, held.claimed_by AS worker, marked.snooze_id IS NOT NULL AS uncertain
