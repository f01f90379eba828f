"""The invariants as views that must be empty. `snoozer doctor` prints them; anybody may look.

Revision ID: 0008
Revises: 0007
"""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# Two invariants speak of time. A session says its terms as `snoozer.lease_seconds` and so on; else defaults hold.
TERM = """
CREATE FUNCTION snooze_term(name TEXT, otherwise DOUBLE PRECISION) RETURNS INTERVAL
LANGUAGE SQL STABLE
AS $$
    SELECT make_interval(secs => COALESCE(NULLIF(current_setting('snoozer.' || name, TRUE), '')::float8, otherwise))
$$
"""

# Every view has the same four columns, none of which names a person or a subject.
VIEWS = """
CREATE VIEW invariant_one_send_per_promise AS
SELECT
    min(snooze_id) AS snooze_id,
    min(id) AS send_id,
    scheduled_for AS since,
    count(*) || ' sends for one promise' AS what
FROM (
    SELECT id, snooze_id, user_email, message_id, scheduled_for, channel FROM reminder_sends
    UNION ALL
    SELECT id, snooze_id, user_email, message_id, scheduled_for, channel FROM reminder_sends_archive
) AS sends
GROUP BY user_email, message_id, scheduled_for, channel
HAVING count(*) > 1;

CREATE VIEW invariant_sent_stays_sent AS
SELECT
    snooze_id,
    id AS send_id,
    COALESCE(sent_at, reserved_at) AS since,
    CASE
        WHEN state <> 'sent' THEN 'was sent, and is ' || state
        WHEN sent_at IS NULL THEN 'sent, and nobody knows when'
        ELSE 'sent, without a reply that says so or anybody who decided it'
    END AS what
FROM (
    SELECT id, snooze_id, state, sent_at, reserved_at, smtp_code, resolution FROM reminder_sends
    UNION ALL
    SELECT id, snooze_id, state, sent_at, reserved_at, smtp_code, resolution FROM reminder_sends_archive
) AS sends
WHERE (state <> 'sent' AND sent_at IS NOT NULL)
   OR (state = 'sent' AND sent_at IS NULL)
   OR (state = 'sent' AND smtp_code IS DISTINCT FROM 250 AND resolution IS NULL);

CREATE VIEW invariant_finished_has_its_send AS
SELECT
    snooze.id AS snooze_id,
    NULL::bigint AS send_id,
    snooze.finished_at AS since,
    'finished as sent, and the ledger has no such send' AS what
FROM (
    SELECT id, user_email, message_id, scheduled_for, finished_at, outcome FROM email_snoozes
    UNION ALL
    SELECT id, user_email, message_id, scheduled_for, finished_at, outcome FROM email_snoozes_archive
) AS snooze
WHERE snooze.outcome = 'sent'
  AND NOT EXISTS (
      SELECT 1
      FROM reminder_sends AS send
      WHERE (send.user_email, send.message_id, send.scheduled_for)
          = (snooze.user_email, snooze.message_id, snooze.scheduled_for)
        AND send.state = 'sent'
  )
  AND NOT EXISTS (
      SELECT 1
      FROM reminder_sends_archive AS send
      WHERE (send.user_email, send.message_id, send.scheduled_for)
          = (snooze.user_email, snooze.message_id, snooze.scheduled_for)
        AND send.state = 'sent'
  );

CREATE VIEW invariant_no_second_dot AS
SELECT
    snooze_id,
    id AS send_id,
    uncertain_at AS since,
    CASE
        WHEN dot_authorised_at > uncertain_at THEN 'a dot after an uncertain one that nobody had resolved'
        ELSE 'was uncertain, is ' || state || ', and nobody resolved it'
    END AS what
FROM (
    SELECT id, snooze_id, state, uncertain_at, dot_authorised_at, resolved_at FROM reminder_sends
    UNION ALL
    SELECT id, snooze_id, state, uncertain_at, dot_authorised_at, resolved_at FROM reminder_sends_archive
) AS sends
WHERE uncertain_at IS NOT NULL
  AND (
      (state <> 'uncertain' AND resolved_at IS NULL)
      OR (
          dot_authorised_at > uncertain_at
          AND (resolved_at IS NULL OR resolved_at < uncertain_at OR resolved_at > dot_authorised_at)
      )
  );

CREATE VIEW invariant_due_is_taken AS
SELECT
    id AS snooze_id,
    NULL::bigint AS send_id,
    GREATEST(remind_at, created_at, pg_postmaster_start_time()) AS since,
    'due, and nobody takes it' AS what
FROM email_snoozes
WHERE NOT inactive
  AND claimed_at IS NULL
  AND attempts < max_attempts
  AND remind_at <= clock_timestamp()
  AND GREATEST(remind_at, created_at, pg_postmaster_start_time())
    < clock_timestamp()
    - snooze_term('lease_seconds', 90) - snooze_term('sweep_seconds', 5) - snooze_term('backoff_seconds', 60)
  AND NOT EXISTS (SELECT 1 FROM circuit_breakers WHERE state <> 'closed');

CREATE VIEW invariant_the_dead_hold_nothing AS
SELECT id AS snooze_id, NULL::bigint AS send_id, since, what
FROM (
    SELECT
        snooze.id,
        GREATEST(
            CASE WHEN workers.state = 'dead' THEN workers.stopped_at ELSE snooze.lease_expires_at END,
            pg_postmaster_start_time()
        ) AS since,
        CASE
            WHEN workers.state = 'dead' THEN 'held by a worker that is dead'
            ELSE 'held by a worker whose lease ran out'
        END AS what
    FROM email_snoozes AS snooze
    LEFT JOIN workers ON workers.id = snooze.claimed_by
    WHERE snooze.claimed_at IS NOT NULL
) AS held
WHERE since < clock_timestamp() - snooze_term('lease_seconds', 90) - snooze_term('sweep_seconds', 5);
"""

DOWN = """
DROP VIEW invariant_the_dead_hold_nothing, invariant_due_is_taken, invariant_no_second_dot,
    invariant_finished_has_its_send, invariant_sent_stays_sent, invariant_one_send_per_promise;
DROP FUNCTION snooze_term(TEXT, DOUBLE PRECISION);
"""


def upgrade() -> None:
    op.execute(TERM)
    op.execute(VIEWS)


def downgrade() -> None:
    op.execute(DOWN)
