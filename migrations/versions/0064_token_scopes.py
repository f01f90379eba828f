"""API tokens have a name, scopes, an end and a last use. Those that were there may do everything, without an end.

Revision ID: 0064
Revises: 0063
"""

from alembic import op

revision = "0064"
down_revision = "0063"
branch_labels = None
depends_on = None

# The default is every scope of this version: a release before it, which runs beside this one during a deployment,
# names none when it makes a token.
COLUMNS = """
ALTER TABLE api_tokens
    ADD COLUMN name TEXT NOT NULL DEFAULT '',
    ADD COLUMN scopes TEXT[] NOT NULL DEFAULT
        '{snoozes:read,snoozes:write,settings:read,settings:write,mailboxes:read,webhooks:read,webhooks:write}',
    ADD COLUMN expires_at TIMESTAMPTZ,
    ADD COLUMN last_used_at TIMESTAMPTZ,
    ADD CONSTRAINT ck_api_tokens_name CHECK (char_length(name) <= 60),
    ADD CONSTRAINT ck_api_tokens_scopes CHECK (cardinality(scopes) >= 1);
"""


def upgrade() -> None:
    op.execute(COLUMNS)


def downgrade() -> None:
    op.execute("""
        ALTER TABLE api_tokens
            DROP COLUMN name, DROP COLUMN scopes, DROP COLUMN expires_at, DROP COLUMN last_used_at
    """)
