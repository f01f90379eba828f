"""The sender in the envelope of a kept message, as mail systems keep it in Return-Path; empty for a report.

Revision ID: 0111
Revises: 0110
"""

from alembic import op

revision = "0111"
down_revision = "0110"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE messages ADD COLUMN return_path text")
