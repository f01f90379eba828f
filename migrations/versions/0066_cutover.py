"""What was imported from another scheduler, and what its shadow knows.

Revision ID: 0066
Revises: 0065
"""

from alembic import op

revision = "0066"
down_revision = "0065"
branch_labels = None
depends_on = None

# A job is imported once, whatever became of its snooze: a second import adds nothing.
IMPORTED = """
CREATE TABLE imported_jobs (
    source TEXT NOT NULL,
    job_id TEXT NOT NULL,
    snooze_id BIGINT NOT NULL,
    user_email TEXT NOT NULL,
    due_at TIMESTAMPTZ NOT NULL,
    seen_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    withdrawn_at TIMESTAMPTZ,
    CONSTRAINT pk_imported_jobs PRIMARY KEY (source, job_id)
);
CREATE INDEX ix_imported_jobs_user ON imported_jobs (user_email);
"""

# An occurrence of a job that the old scheduler is to send. `gone_at`: it vanished before it was due. `would_send_at`:
# when a worker would have claimed it. `sent_at`: when the old scheduler sent it, as its own log says.
SHADOW = """
CREATE TABLE shadow_jobs (
    source TEXT NOT NULL,
    job_id TEXT NOT NULL,
    due_at TIMESTAMPTZ NOT NULL,
    user_email TEXT NOT NULL,
    priority SMALLINT NOT NULL DEFAULT 0,
    serialization_key TEXT,
    noticed_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    seen_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    gone_at TIMESTAMPTZ,
    would_send_at TIMESTAMPTZ,
    sent_at TIMESTAMPTZ[] NOT NULL DEFAULT '{}',
    CONSTRAINT pk_shadow_jobs PRIMARY KEY (source, job_id, due_at)
);
CREATE INDEX ix_shadow_jobs_due ON shadow_jobs (source, due_at) WHERE would_send_at IS NULL AND gone_at IS NULL;
CREATE INDEX ix_shadow_jobs_user ON shadow_jobs (user_email);
"""


def upgrade() -> None:
    op.execute(IMPORTED)
    op.execute(SHADOW)


def downgrade() -> None:
    op.execute("DROP TABLE imported_jobs")
    op.execute("DROP TABLE shadow_jobs")
