"""A breaker that an operator tripped is open while its mail server is used, and not for ever.

Revision ID: 0061
Revises: 0060
"""

from alembic import op

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None

# A breaker that no worker has asked for an hour is that of a mail server which is not used any more: workers with
# something due ask for a permit at each look, and that is noted.
OPEN_BREAKERS = """
CREATE OR REPLACE VIEW open_breakers AS
SELECT server, state, refuses_everybody, COALESCE(away_since, opened_at, updated_at) AS since
FROM circuit_breakers
WHERE state <> 'closed'
  AND ({tripped}updated_at > clock_timestamp() - INTERVAL '1 hour')
"""


def upgrade() -> None:
    op.execute(OPEN_BREAKERS.format(tripped=""))


def downgrade() -> None:
    op.execute(OPEN_BREAKERS.format(tripped="tripped_at IS NOT NULL OR "))
