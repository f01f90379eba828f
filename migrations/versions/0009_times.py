"""What people say about times: their own presets, and the phrases they typed last.

Revision ID: 0009
Revises: 0008
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE account_presets (
    account_id BIGINT NOT NULL CONSTRAINT fk_account_presets_account REFERENCES accounts (id) ON DELETE CASCADE,
    position SMALLINT NOT NULL,
    label TEXT NOT NULL,
    phrase TEXT NOT NULL,
    CONSTRAINT pk_account_presets PRIMARY KEY (account_id, position)
);

CREATE TABLE account_phrases (
    account_id BIGINT NOT NULL CONSTRAINT fk_account_phrases_account REFERENCES accounts (id) ON DELETE CASCADE,
    phrase TEXT NOT NULL,
    used_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT pk_account_phrases PRIMARY KEY (account_id, phrase)
);
CREATE INDEX ix_account_phrases_used_at ON account_phrases (account_id, used_at);
"""


def upgrade() -> None:
    op.execute(TABLES)


def downgrade() -> None:
    op.execute("DROP TABLE account_phrases, account_presets")
