-- Promise the next occurrences of recurring snoozes whose occurrences were sent, with fresh attempts; fenced by the
-- claim token. The new promise moves the return of the kept message, too, so it waits until the last return has taken
-- place. Rows that another transaction has locked, or whose message it has locked, are skipped; they and claims no
-- longer owned are missing from the result.
WITH occurrence AS MATERIALIZED (
    SELECT *
    FROM unnest(
        CAST(:ids AS bigint[]),
        CAST(:claim_tokens AS uuid[]),
        CAST(:remind_at AS timestamptz[])
    ) AS next_one (id, claim_token, remind_at)
),
message AS MATERIALIZED (
    SELECT kept.id, (kept.snooze_id = snooze.id AND kept.returns_at <= clock_timestamp()) IS TRUE AS returns
    FROM occurrence
    JOIN email_snoozes AS snooze ON snooze.id = occurrence.id
    JOIN messages AS kept ON kept.user_email = snooze.user_email AND kept.message_id = snooze.message_id
    WHERE kept.is_kept
    FOR NO KEY UPDATE OF kept SKIP LOCKED
),
sent AS MATERIALIZED (
    SELECT snooze.id, occurrence.remind_at
    FROM occurrence
    JOIN email_snoozes AS snooze ON snooze.id = occurrence.id
    WHERE snooze.claim_token = occurrence.claim_token
      AND COALESCE(
          (
              SELECT kept.id IN (SELECT message.id FROM message WHERE NOT message.returns)
              FROM messages AS kept
              WHERE kept.user_email = snooze.user_email
                AND kept.message_id = snooze.message_id
                AND kept.is_kept
          ),
          TRUE
      )
    FOR NO KEY UPDATE OF snooze SKIP LOCKED
)
UPDATE email_snoozes AS snooze
SET claimed_at = NULL,
    claimed_by = NULL,
    claim_token = NULL,
    lease_expires_at = NULL,
    remind_at = sent.remind_at,
    scheduled_for = NULL,
    updated_at = CURRENT_TIMESTAMP
FROM sent
WHERE snooze.id = sent.id
  AND snooze_keeps('clock')
RETURNING snooze.id
