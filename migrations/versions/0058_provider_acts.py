"""The audit log also says what the groups of an organisation's provider changed.

Revision ID: 0058
Revises: 0057
"""

from alembic import op

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _allow("^((operator|user):[0-9]+|command|clock|provider)$")


def downgrade() -> None:
    _allow("^((operator|user):[0-9]+|command|clock)$", valid="NOT VALID")


def _allow(actors: str, *, valid: str = "") -> None:
    op.execute("ALTER TABLE audit_log DROP CONSTRAINT ck_audit_log_actor")
    op.execute(f"ALTER TABLE audit_log ADD CONSTRAINT ck_audit_log_actor CHECK (actor ~ '{actors}') {valid}")
