-- Delete idempotency keys, acts on many messages and sign-in links after a day, sessions when they expire; up to
-- batch_size of each.
WITH responses AS (
    DELETE FROM idempotency_keys
    WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM idempotency_keys WHERE created_at < CURRENT_TIMESTAMP - INTERVAL '1 day' LIMIT :batch_size
    ))
    RETURNING 1
),
acts AS (
    DELETE FROM bulk_acts
    WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM bulk_acts WHERE created_at < CURRENT_TIMESTAMP - INTERVAL '1 day' LIMIT :batch_size
    ))
    RETURNING 1
),
expired_links AS (
    DELETE FROM sign_ins
    WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM sign_ins WHERE expires_at < CURRENT_TIMESTAMP - INTERVAL '1 day' LIMIT :batch_size
    ))
    RETURNING 1
),
expired_sessions AS (
    DELETE FROM sessions
    WHERE ctid = ANY(ARRAY(SELECT ctid FROM sessions WHERE expires_at < CURRENT_TIMESTAMP LIMIT :batch_size))
    RETURNING 1
)
SELECT
    (SELECT count(*) FROM responses)
    + (SELECT count(*) FROM acts)
    + (SELECT count(*) FROM expired_links)
    + (SELECT count(*) FROM expired_sessions) AS deleted
