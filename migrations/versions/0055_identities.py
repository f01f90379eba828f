"""Accounts that sign in at an organisation's provider, what its groups give them, and when a session was confirmed.

Revision ID: 0055
Revises: 0054
"""

from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None

UP = """
ALTER TABLE accounts
    ADD COLUMN group_role TEXT,
    ADD COLUMN signed_in_at TIMESTAMPTZ,
    ADD CONSTRAINT ck_accounts_group_role CHECK (group_role IN ('viewer', 'operator', 'admin'));
ALTER TABLE sessions ADD COLUMN confirmed_at TIMESTAMPTZ;
CREATE TABLE account_identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    account_id BIGINT NOT NULL CONSTRAINT fk_account_identities_account REFERENCES accounts (id) ON DELETE CASCADE,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_account_identities PRIMARY KEY (issuer, subject)
);
CREATE INDEX ix_account_identities_account ON account_identities (account_id);
"""

DOWN = """
DROP TABLE account_identities;
ALTER TABLE sessions DROP COLUMN confirmed_at;
ALTER TABLE accounts DROP COLUMN signed_in_at, DROP COLUMN group_role;
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
