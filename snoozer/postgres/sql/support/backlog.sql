-- How much is due, how much is in hand, how much is still to come, and how old the oldest due row is.
SELECT
    count(*) FILTER (WHERE claimed_at IS NULL AND remind_at <= CURRENT_TIMESTAMP AND attempts < max_attempts) AS due,
    count(*) FILTER (WHERE claimed_at IS NOT NULL) AS claimed,
    count(*) FILTER (WHERE claimed_at IS NULL AND remind_at > CURRENT_TIMESTAMP) AS asleep,
    COALESCE(extract(epoch FROM CURRENT_TIMESTAMP - min(remind_at) FILTER (
        WHERE claimed_at IS NULL AND remind_at <= CURRENT_TIMESTAMP AND attempts < max_attempts
    )), 0) AS oldest_due_seconds,
    COALESCE(extract(epoch FROM CURRENT_TIMESTAMP - min(claimed_at)), 0) AS oldest_claim_seconds
FROM email_snoozes
WHERE NOT inactive
