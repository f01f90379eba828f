"""Entries of the ledger that wait are `failed`, not `reserved`: a claim writes nothing to it any more.

Workers of the release before may run while the schema is upgraded and after it: what they hold stays reserved, the
constraint allows `reserved`, and each release takes over what the other one left. The next release forbids the state.

Revision ID: 0078
Revises: 0077
"""

from alembic import op

revision = "0078"
down_revision = "0077"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        UPDATE reminder_sends AS send
        SET state = 'failed'
        WHERE send.state = 'reserved'
          AND NOT EXISTS (
              SELECT 1
              FROM email_snoozes AS snooze
              WHERE snooze.id = send.snooze_id
                AND snooze.claim_token = send.claim_token
          )
        """
    )
