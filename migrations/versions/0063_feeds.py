"""Feeds of people: a calendar, or what came back, at an address with a secret, of which the hash is stored.

Revision ID: 0063
Revises: 0062
"""

from alembic import op

revision = "0063"
down_revision = "0062"
branch_labels = None
depends_on = None

UP = """
CREATE TABLE feeds (
    id BIGSERIAL CONSTRAINT pk_feeds PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_feeds_account REFERENCES accounts (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CONSTRAINT ck_feeds_kind CHECK (kind IN ('calendar', 'returned')),
    name TEXT NOT NULL,
    shows_subject BOOLEAN NOT NULL DEFAULT TRUE,
    secret_hash TEXT NOT NULL CONSTRAINT uq_feeds_secret_hash UNIQUE,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    used_at TIMESTAMPTZ
);
CREATE INDEX ix_feeds_account ON feeds (account_id);
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute("DROP TABLE feeds")
