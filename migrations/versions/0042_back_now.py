"""What its person brings back now comes also within a rest: this occurrence, and no later one of its series.

Revision ID: 0042
Revises: 0041
"""

from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

# The promise was made at the moment of the act, which its event names.
BACK_NOW = """
    OR EXISTS (
        SELECT 1
        FROM snooze_events AS event
        WHERE event.snooze_id = snooze
          AND event.kind = 'back'
          AND CAST(event.detail ->> 'promise' AS timestamptz) = promise
    )"""

DEFERRAL = """
CREATE OR REPLACE FUNCTION snooze_deferral(
    person TEXT, snooze BIGINT, promise TIMESTAMPTZ, OUT until TIMESTAMPTZ, OUT reason TEXT
)
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    shape day_shapes;
    present TIMESTAMPTZ := clock_timestamp();
BEGIN
    SELECT day.*
    INTO shape
    FROM accounts AS account
    JOIN day_shapes AS day ON day.account_id = account.id
    WHERE account.email = lower(person);
    IF NOT FOUND OR (SELECT at_any_hour FROM email_snoozes WHERE id = snooze){back_now} THEN
        RETURN;
    END IF;
    IF present >= shape.known_until THEN
        until := present;
    ELSIF present >= shape.rest_from
        AND present < shape.rest_until
        AND (promise >= shape.rest_from OR present >= shape.rest_from + INTERVAL '2 minutes')
    THEN
        until := shape.rest_until;
        reason := shape.rest_reason;
    END IF;
END
$$;
"""


def upgrade() -> None:
    op.execute(DEFERRAL.format(back_now=BACK_NOW))


def downgrade() -> None:
    op.execute(DEFERRAL.format(back_now=""))
