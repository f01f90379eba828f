"""What an act on many messages changed, for a day, so that it can be undone as one.

Revision ID: 0041
Revises: 0040
"""

from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

# `id` is made from the submitted form, so that one that is submitted twice acts once. Rows that still have the
# `created_at` of the act as their `updated_at` have not been changed since: both are the start of its transaction.
TABLE = """
CREATE TABLE bulk_acts (
    account_id BIGINT NOT NULL CONSTRAINT fk_bulk_acts_account REFERENCES accounts (id) ON DELETE CASCADE,
    id UUID NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    result JSONB NOT NULL DEFAULT '{}',
    before JSONB NOT NULL DEFAULT '{}',
    undone_at TIMESTAMPTZ,
    CONSTRAINT pk_bulk_acts PRIMARY KEY (account_id, id)
);
CREATE INDEX ix_bulk_acts_created_at ON bulk_acts (created_at);
"""


def upgrade() -> None:
    op.execute(TABLE)


def downgrade() -> None:
    op.execute("DROP TABLE bulk_acts")
