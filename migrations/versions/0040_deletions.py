"""Accounts that their owners delete: after a day, in which it can be taken back.

Revision ID: 0040
Revises: 0039
"""

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

# `deliver` is what becomes of what is still to come back: it is delivered first, or cancelled. From `begun_at` on it
# cannot be taken back; `looked_at` is when the clock last worked on it.
UP = """
CREATE TABLE account_deletions (
    account_id BIGINT NOT NULL
        CONSTRAINT fk_account_deletions_account REFERENCES accounts (id) ON DELETE CASCADE,
    requested_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    due_at TIMESTAMPTZ NOT NULL,
    deliver BOOLEAN NOT NULL,
    begun_at TIMESTAMPTZ,
    looked_at TIMESTAMPTZ,
    CONSTRAINT pk_account_deletions PRIMARY KEY (account_id)
);
CREATE INDEX ix_push_sends_account ON push_sends (account_id);
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute("DROP INDEX ix_push_sends_account")
    op.execute("DROP TABLE account_deletions")
