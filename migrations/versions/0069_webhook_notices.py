"""Webhooks: who did not switch an endpoint off is told by mail that it is off.

Revision ID: 0069
Revises: 0068
"""

from alembic import op

revision = "0069"
down_revision = "0068"
branch_labels = None
depends_on = None

# When the mail to its owner is to be sent, or tried again; NULL where none is to be.
NOTICES = """
ALTER TABLE webhook_endpoints ADD COLUMN notice_at TIMESTAMPTZ;
CREATE INDEX ix_webhook_endpoints_notice ON webhook_endpoints (notice_at) WHERE notice_at IS NOT NULL;
"""

DOWN = """
DROP INDEX ix_webhook_endpoints_notice;
ALTER TABLE webhook_endpoints DROP COLUMN notice_at;
"""


def upgrade() -> None:
    op.execute(NOTICES)


def downgrade() -> None:
    op.execute(DOWN)
