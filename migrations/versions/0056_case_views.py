"""Operators keep filters of the list of cases by a name; cases are found by the class of their error.

Revision ID: 0056
Revises: 0055
"""

from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None

# `filter` has the fields of the list's address, which names a person or a message by a snooze's id.
VIEWS = """
CREATE TABLE case_views (
    id BIGSERIAL CONSTRAINT pk_case_views PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_case_views_account REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    filter JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT uq_case_views_name UNIQUE (account_id, name)
);
"""

# As a range of fingerprints, the cases of a class that is frequent would all be sorted for each page.
CLASSES = """
CREATE INDEX ix_email_snoozes_case_classes ON email_snoozes (snooze_error_class(last_error), finished_at, id)
    WHERE outcome = 'retired';
"""


def upgrade() -> None:
    op.execute(VIEWS)
    op.execute(CLASSES)


def downgrade() -> None:
    op.execute("DROP INDEX ix_email_snoozes_case_classes")
    op.execute("DROP TABLE case_views")
