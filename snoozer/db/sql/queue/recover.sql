-- Take back the claims of workers that died and the leases that ran out, a bounded number at a time;
-- after an outage of the database a registered worker has one lease to be heard again.
-- A reminder whose dot was authorised may have left, so its send becomes uncertain and waits out the hold.
WITH lapsed AS MATERIALIZED (
    SELECT snooze.id, snooze.claim_token, snooze.claimed_by
    FROM email_snoozes AS snooze
    LEFT JOIN workers ON workers.id = snooze.claimed_by
    WHERE snooze.claimed_at IS NOT NULL
      AND snooze.id BETWEEN :first_id AND :last_id
      AND (
          workers.state = 'dead'
          OR clock_timestamp() > GREATEST(
              snooze.lease_expires_at,
              CASE WHEN workers.id IS NOT NULL THEN snooze_server_met() + :lease END
          )
      )
    ORDER BY snooze.id
    LIMIT :batch_size
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
),
doubted AS (
    UPDATE reminder_sends AS send
    SET state = 'uncertain',
        uncertain_at = clock_timestamp()
    FROM lapsed
    WHERE send.snooze_id = lapsed.id
      AND send.claim_token = lapsed.claim_token
      AND send.state = 'sending'
    RETURNING send.snooze_id, send.resends
),
judged AS (
    SELECT
        lapsed.id,
        lapsed.claimed_by,
        doubted.snooze_id IS NOT NULL AS uncertain,
        CASE
            WHEN doubted.resends >= :most_resends
                THEN 'It may have been sent, and was sent again twice; the worker was lost each time'
            WHEN doubted.snooze_id IS NOT NULL AND :hold_for_operator
                THEN 'It may have been sent: the worker was lost after the end of the message; decide whether to send it again'
            WHEN doubted.snooze_id IS NOT NULL
                THEN 'It may have been sent: the worker was lost after the end of the message; it is sent again after the hold'
            ELSE 'The worker that held it was lost'
        END AS error,
        doubted.snooze_id IS NOT NULL AND (doubted.resends >= :most_resends OR :hold_for_operator) AS for_people,
        CASE WHEN doubted.snooze_id IS NULL THEN :delay ELSE :hold END AS pause
    FROM lapsed
    LEFT JOIN doubted ON doubted.snooze_id = lapsed.id
)
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    crash_count = LEAST(snooze.crash_count, 1000000) + 1,
    last_error = judged.error,
    last_error_at = CURRENT_TIMESTAMP,
    remind_at = GREATEST(snooze.remind_at, CURRENT_TIMESTAMP + judged.pause),
    inactive = judged.for_people OR snooze.crash_count >= :most_crashes - 1,
    outcome = CASE WHEN judged.for_people OR snooze.crash_count >= :most_crashes - 1 THEN 'retired' END,
    finished_at = CASE WHEN judged.for_people OR snooze.crash_count >= :most_crashes - 1 THEN CURRENT_TIMESTAMP END,
    updated_at = CURRENT_TIMESTAMP
FROM judged
WHERE snooze.id = judged.id
RETURNING snooze.id, judged.claimed_by AS worker, judged.uncertain, snooze.outcome IS NOT NULL AS retired
