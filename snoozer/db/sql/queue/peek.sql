-- name: claimed_by
-- The claims of a worker.
SELECT id, claim_token
FROM email_snoozes
WHERE claimed_at IS NOT NULL
  AND claimed_by = :worker

-- name: deferrals
-- The claims of people whose day has a shape: until when a rest defers each, and why. No reason means that no rest
-- defers it at this moment, or that the rests are not known.
SELECT snooze.id, deferral.until, deferral.reason
FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS requested (id, claim_token)
JOIN email_snoozes AS snooze ON snooze.id = requested.id
JOIN accounts AS account ON account.email = lower(snooze.user_email)
JOIN day_shapes AS day ON day.account_id = account.id
CROSS JOIN LATERAL snooze_deferral(snooze.user_email, snooze.id, snooze_promise(snooze)) AS deferral
WHERE snooze.claim_token = requested.claim_token

-- name: is_awaited
-- Whether a person has a snooze that is still to be delivered.
SELECT EXISTS (
    SELECT 1
    FROM email_snoozes
    WHERE user_email = :user_email
      AND outcome IS NULL
      AND NOT inactive
)

-- name: keys_behind
-- Up to :limit keys, in order from a given one on, that have a row waiting behind others: by skipping through the
-- index.
WITH RECURSIVE key AS (
    (
        SELECT serialization_key AS name
        FROM email_snoozes
        WHERE NOT inactive
          AND claimed_at IS NULL
          AND behind_key
          AND serialization_key >= :from_key
        ORDER BY serialization_key
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT following.serialization_key
        FROM email_snoozes AS following
        WHERE NOT following.inactive
          AND following.claimed_at IS NULL
          AND following.behind_key
          AND following.serialization_key > key.name
        ORDER BY following.serialization_key
        LIMIT 1
    )
    FROM key
    WHERE key.name IS NOT NULL
)
SELECT name
FROM key
WHERE name IS NOT NULL
LIMIT :limit

-- name: newer_cases
-- The given cases whose message has a newer case in the same operation, even if its turn is still to come, and
-- whether a reminder of such a newer case is uncertain.
SELECT snooze.id, bool_or(send.id IS NOT NULL) AS is_uncertain
FROM email_snoozes AS snooze
JOIN email_snoozes AS newer
  ON md5(newer.message_id) = md5(snooze.message_id)
 AND newer.message_id = snooze.message_id
 AND newer.user_email = snooze.user_email
 AND newer.outcome = 'retired'
 AND newer.id > snooze.id
JOIN operation_members AS member ON member.snooze_id = newer.id AND member.operation_id = :operation_id
LEFT JOIN reminder_sends AS send
  ON send.user_email = newer.user_email
 AND send.message_id = newer.message_id
 AND send.scheduled_for = newer.scheduled_for
 AND send.channel = 'email'
 AND send.state = 'uncertain'
WHERE snooze.id = ANY(:ids)
  AND snooze.outcome = 'retired'
GROUP BY snooze.id

-- name: owned
-- Which of these claims are still owned.
SELECT snooze.id
FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS requested (id, claim_token)
JOIN email_snoozes AS snooze ON snooze.id = requested.id
WHERE snooze.claim_token = requested.claim_token

-- name: pauses
-- The given claims that a pause of operators holds back, each with its pause.
SELECT snooze.id, snooze_pause(snooze.user_email, snooze.priority, 'mail') AS pause_id
FROM unnest(CAST(:ids AS bigint[]), CAST(:claim_tokens AS uuid[])) AS requested (id, claim_token)
JOIN email_snoozes AS snooze ON snooze.id = requested.id
WHERE snooze.claim_token = requested.claim_token
  AND EXISTS (SELECT 1 FROM pauses WHERE ended_at IS NULL)
  AND snooze_pause(snooze.user_email, snooze.priority, 'mail') IS NOT NULL

-- name: poison_rows
-- Lanes with due rows that lost more than one worker, of the hundred that are due the longest: priority, and whether
-- with a key. No row while operators have paused everything.
SELECT DISTINCT priority, serialization_key IS NOT NULL AS keyed
FROM (
    SELECT priority, serialization_key
    FROM email_snoozes
    WHERE NOT inactive
      AND claimed_at IS NULL
      AND NOT behind_key
      AND crash_count > 1
      AND remind_at <= CURRENT_TIMESTAMP
      AND attempts < max_attempts
      AND schema_version <= :known_schema
      AND NOT EXISTS (
          SELECT 1
          FROM pauses
          WHERE ended_at IS NULL
            AND (kind = 'all' OR (kind = 'channel' AND value = 'mail'))
            AND (until IS NULL OR until > CURRENT_TIMESTAMP)
      )
    ORDER BY remind_at
    LIMIT 100
) AS poison
ORDER BY priority DESC, keyed

-- name: returning
-- Find the snoozes whose message returns to a mailbox by now, here or in a connected one.
SELECT snooze.id
FROM email_snoozes AS snooze
WHERE snooze.id = ANY(:ids)
  AND EXISTS (
      SELECT 1
      FROM messages AS message
      WHERE message.snooze_id = snooze.id
        AND message.returns_at <= CURRENT_TIMESTAMP
  )

-- name: scan_end
-- The position of the row that comes :rows due rows of a lane after a given position; no row if there are fewer.
SELECT remind_at, id
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND NOT behind_key
  AND remind_at <= CURRENT_TIMESTAMP
  AND priority = :priority
  AND LEAST(crash_count, 2) = :crashes
  AND num_nonnulls(serialization_key) = CAST(:keyed AS integer)
  AND (remind_at, id) > (COALESCE(CAST(:after_time AS timestamptz), '-infinity'), CAST(:after_id AS bigint))
ORDER BY remind_at, id
OFFSET :rows - 1
LIMIT 1

-- name: unfinished
-- Whether any snooze is due or claimed.
SELECT EXISTS (
    SELECT 1
    FROM email_snoozes
    WHERE NOT inactive
      AND (
          claimed_at IS NOT NULL
          OR (remind_at <= CURRENT_TIMESTAMP AND attempts < max_attempts AND schema_version <= :known_schema)
      )
) AS unfinished
