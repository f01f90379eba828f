"""Digests: what came due together at the end of a rest is reminded of in one mail.

Revision ID: 0046
Revises: 0045
"""

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

# More than `gathers_over` reminders of one rest are gathered; what was deferred until `gathered_until` was looked at.
CHOICE = """
ALTER TABLE day_shapes
    ADD COLUMN gathers_over SMALLINT,
    ADD COLUMN gathered_until TIMESTAMPTZ NOT NULL DEFAULT now();
ALTER TABLE day_shapes
    ADD CONSTRAINT ck_day_shapes_gathers_over CHECK (gathers_over BETWEEN 3 AND 50) NOT VALID;
ALTER TABLE day_shapes VALIDATE CONSTRAINT ck_day_shapes_gathers_over;
"""

# A digest is the reminder of its first promise, which lists the others, its members. What it says of them is in their
# own entries of the ledger. Once it was sent, and those say so, it is settled.
TABLES = """
CREATE TABLE digests (
    id BIGSERIAL CONSTRAINT pk_digests PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_digests_account REFERENCES accounts (id) ON DELETE CASCADE,
    snooze_id BIGINT NOT NULL,
    scheduled_for TIMESTAMPTZ NOT NULL,
    gathered_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    settled_at TIMESTAMPTZ,
    CONSTRAINT uq_digests_promise UNIQUE (snooze_id, scheduled_for)
);
CREATE INDEX ix_digests_account ON digests (account_id);
CREATE INDEX ix_digests_gathered ON digests (gathered_at);
CREATE INDEX ix_digests_open ON digests (gathered_at) WHERE settled_at IS NULL;
CREATE TABLE digest_members (
    digest_id BIGINT NOT NULL CONSTRAINT fk_digest_members_digest REFERENCES digests (id) ON DELETE CASCADE,
    position SMALLINT NOT NULL,
    snooze_id BIGINT NOT NULL,
    scheduled_for TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_digest_members PRIMARY KEY (digest_id, position),
    CONSTRAINT uq_digest_members_promise UNIQUE (snooze_id, scheduled_for)
);
"""

# Whether a snooze may become a member of a digest: it was not looked at since the rest that deferred it ended.
AWAITED = """
CREATE FUNCTION snooze_may_be_gathered(person TEXT, snooze BIGINT) RETURNS BOOLEAN
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    RETURN EXISTS (
        SELECT 1
        FROM email_snoozes AS waiting
        JOIN accounts AS account ON account.email = lower(person)
        JOIN day_shapes AS day ON day.account_id = account.id
        WHERE waiting.id = snooze
          AND NOT waiting.at_any_hour
          AND waiting.deferred_until > day.gathered_until
          AND waiting.deferred_until <= clock_timestamp()
          AND day.gathers_over IS NOT NULL
    );
END
$$;
"""


def upgrade() -> None:
    op.execute(CHOICE)
    op.execute(TABLES)
    op.execute(AWAITED)


def downgrade() -> None:
    op.execute("DROP FUNCTION snooze_may_be_gathered(TEXT, BIGINT)")
    op.execute("DROP TABLE digest_members")
    op.execute("DROP TABLE digests")
    op.execute("ALTER TABLE day_shapes DROP COLUMN gathered_until, DROP COLUMN gathers_over")
