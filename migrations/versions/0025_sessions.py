"""Sessions that a person can tell apart, and sign-ins that cost the same whether the address has an account or not.

Revision ID: 0025
Revises: 0024
"""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

# A sign-in without an account is never mailed, and its code cannot be known.
UP = """
ALTER TABLE sessions ADD COLUMN device TEXT;
ALTER TABLE sign_ins ADD COLUMN email_hash TEXT, ALTER COLUMN account_id DROP NOT NULL;
CREATE INDEX ix_sign_ins_email ON sign_ins (email_hash, created_at);
"""

DOWN = """
DELETE FROM sign_ins WHERE account_id IS NULL;
DROP INDEX ix_sign_ins_email;
ALTER TABLE sign_ins DROP COLUMN email_hash, ALTER COLUMN account_id SET NOT NULL;
ALTER TABLE sessions DROP COLUMN device;
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
