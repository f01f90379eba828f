"""How much of each quota was used in its present period, shared by all processes.

Revision ID: 0026
Revises: 0025
"""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

# After a crash of the server every quota begins anew: that is cheaper than a write to the log for each request.
TABLE = """
CREATE UNLOGGED TABLE quota_usage (
    quota TEXT NOT NULL,
    subject TEXT NOT NULL,
    period_start TIMESTAMPTZ NOT NULL,
    amount BIGINT NOT NULL,
    CONSTRAINT pk_quota_usage PRIMARY KEY (quota, subject, period_start)
);
CREATE INDEX ix_quota_usage_period_start ON quota_usage (period_start);
"""


def upgrade() -> None:
    op.execute(TABLE)


def downgrade() -> None:
    op.execute("DROP TABLE quota_usage")
