-- name: answer
-- Save what a mail did, and have it answered: at most `most` answers of its kind, understood or not, in an hour, and four
-- times as many in a day, because some autoresponders cannot be recognised. They answer the answer, too, so of mails that
-- were not understood, only one an hour is answered for each occurrence.
WITH earlier AS (
    SELECT
        count(*) FILTER (WHERE other.received_at > CURRENT_TIMESTAMP - INTERVAL '1 hour') < :most
            AND count(*) < 4 * :most
            AND (
                :understood
                OR count(*) FILTER (
                    WHERE other.received_at > CURRENT_TIMESTAMP - INTERVAL '1 hour'
                      AND other.snooze_id = :snooze_id
                      AND other.scheduled_for = :scheduled_for
                ) = 0
            ) AS are_few
    FROM mail_acts AS other
    WHERE other.account_id = (SELECT account_id FROM mail_acts WHERE id = :id)
      AND other.id <> :id
      AND other.understood = :understood
      AND other.received_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
)
UPDATE mail_acts AS act
SET understood = :understood,
    message_id = :message_id,
    snooze_id = :snooze_id,
    scheduled_for = :scheduled_for,
    words = CASE WHEN earlier.are_few THEN CAST(:words AS jsonb) ELSE '{}' END,
    due_at = CASE WHEN earlier.are_few THEN clock_timestamp() END
FROM earlier
WHERE act.id = :id

-- name: begin
-- Enter a mail. Its person's other mails wait until the transaction ends. Zero rows if it was entered before.
WITH person AS MATERIALIZED (
    SELECT id
    FROM accounts
    WHERE email = :email
    FOR NO KEY UPDATE
)
INSERT INTO mail_acts (account_id, sha256)
SELECT person.id, :sha256
FROM person
ON CONFLICT ON CONSTRAINT uq_mail_acts_mail DO NOTHING
RETURNING id

-- name: end
-- The answer was sent, or refused for good: its text is forgotten. Zero rows if another process took it since.
UPDATE mail_acts
SET due_at = NULL,
    words = '{}'
WHERE id = :id
  AND due_at = :due_at
RETURNING id

-- name: prune
-- Forget mails that came long ago: no mail server sends one again after five days.
WITH old AS MATERIALIZED (
    SELECT id
    FROM mail_acts
    WHERE received_at < CURRENT_TIMESTAMP - INTERVAL '14 days'
    LIMIT :batch_size
    FOR UPDATE SKIP LOCKED
)
DELETE FROM mail_acts
USING old
WHERE mail_acts.id = old.id

-- name: take
-- Take an answer: it is due again after `lease`, unless it is ended. It is tried for a day, and only for a verified
-- address. Zero rows if none is due.
WITH due AS MATERIALIZED (
    SELECT act.id, snooze_recipient(account.email) AS email, account.locale
    FROM mail_acts AS act
    JOIN accounts AS account ON account.id = act.account_id
    WHERE act.due_at <= CURRENT_TIMESTAMP
      AND act.received_at > CURRENT_TIMESTAMP - INTERVAL '1 day'
      AND account.disabled_at IS NULL
      AND account.verified_at IS NOT NULL
    ORDER BY act.due_at, act.id
    LIMIT 1
    FOR NO KEY UPDATE OF act SKIP LOCKED
)
UPDATE mail_acts AS act
SET due_at = clock_timestamp() + :lease
FROM due
WHERE act.id = due.id
RETURNING
    act.id, act.received_at, act.message_id, act.snooze_id, act.scheduled_for, act.words, act.due_at,
    due.email, due.locale,
    EXISTS (
        SELECT 1
        FROM reminder_sends AS send
        WHERE send.snooze_id = act.snooze_id
          AND send.scheduled_for = act.scheduled_for
    ) AS has_left
