"""The claim's index holds what may be claimed: of the rows of one key only the first few; rows by their lost workers.

Revision ID: 0020
Revises: 0019
"""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

# A row of a key with four live rows ahead of it is not looked at by claims; queue/advance_keys.sql brings it back. The
# trigger takes no lock: where it misses a row that another transaction inserts, a claim finds out. `window` of
# queue/claim.sql has the same four. Queries by remind_at alone keep the index of due rows; ordered by (remind_at, id)
# as well, it would look as good to a claim, which would then walk over all rows of a key.
UP = """
ALTER TABLE email_snoozes ADD COLUMN behind_key BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE email_snoozes_archive ADD COLUMN behind_key BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE email_snoozes_archive ALTER COLUMN behind_key DROP DEFAULT;

DROP INDEX ix_email_snoozes_lane;
DROP INDEX ix_email_snoozes_due;
CREATE INDEX ix_email_snoozes_due ON email_snoozes (remind_at)
    WHERE NOT inactive AND claimed_at IS NULL;
CREATE INDEX ix_email_snoozes_lane ON email_snoozes (
    priority, LEAST(crash_count, 2), num_nonnulls(serialization_key), remind_at, id
) WHERE NOT inactive AND claimed_at IS NULL AND NOT behind_key;
CREATE INDEX ix_email_snoozes_behind ON email_snoozes (serialization_key)
    WHERE NOT inactive AND claimed_at IS NULL AND behind_key;
CREATE INDEX ix_email_snoozes_poison ON email_snoozes (remind_at)
    WHERE NOT inactive AND claimed_at IS NULL AND NOT behind_key AND crash_count > 1;

CREATE FUNCTION email_snoozes_wait_behind_key() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.behind_key := EXISTS (
        SELECT 1
        FROM email_snoozes AS ahead
        WHERE ahead.serialization_key = NEW.serialization_key
          AND NOT ahead.inactive
          AND ahead.claimed_at IS NULL
          AND ahead.attempts < ahead.max_attempts
          AND (ahead.remind_at, ahead.id) < (NEW.remind_at, NEW.id)
        OFFSET 3
    );
    RETURN NEW;
END
$$;

CREATE TRIGGER email_snoozes_wait_behind_key
    BEFORE INSERT ON email_snoozes
    FOR EACH ROW
    WHEN (NEW.serialization_key IS NOT NULL AND NOT NEW.inactive AND NEW.claimed_at IS NULL)
    EXECUTE FUNCTION email_snoozes_wait_behind_key();
"""

DOWN = """
DROP TRIGGER email_snoozes_wait_behind_key ON email_snoozes;
DROP FUNCTION email_snoozes_wait_behind_key();
DROP INDEX ix_email_snoozes_poison;
DROP INDEX ix_email_snoozes_behind;
DROP INDEX ix_email_snoozes_lane;
DROP INDEX ix_email_snoozes_due;
CREATE INDEX ix_email_snoozes_lane ON email_snoozes (priority, (crash_count > 0), remind_at, id)
    WHERE NOT inactive AND claimed_at IS NULL;
CREATE INDEX ix_email_snoozes_due ON email_snoozes (remind_at, id)
    WHERE NOT inactive AND claimed_at IS NULL;
ALTER TABLE email_snoozes_archive DROP COLUMN behind_key;
ALTER TABLE email_snoozes DROP COLUMN behind_key;
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
