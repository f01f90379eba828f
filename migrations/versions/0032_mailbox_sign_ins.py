"""Mailboxes that are signed in to at their provider by OAuth, and the sign-ins that have begun.

Revision ID: 0032
Revises: 0031
"""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

# `secret` is a refresh token where `login_method` is not a password. A sign-in belongs to the session that began it,
# and is deleted as its code is exchanged; `mailbox_id` is the mailbox that is signed in to again, NULL for another one.
UP = """
ALTER TABLE mailboxes
    ADD COLUMN login_method TEXT NOT NULL DEFAULT 'password'
        CONSTRAINT ck_mailboxes_login_method CHECK (login_method IN ('password', 'google', 'microsoft'));

CREATE TABLE mailbox_sign_ins (
    state_hash TEXT CONSTRAINT pk_mailbox_sign_ins PRIMARY KEY,
    session_hash TEXT NOT NULL,
    account_id BIGINT NOT NULL CONSTRAINT fk_mailbox_sign_ins_account REFERENCES accounts (id) ON DELETE CASCADE,
    mailbox_id BIGINT CONSTRAINT fk_mailbox_sign_ins_mailbox REFERENCES mailboxes (id) ON DELETE CASCADE,
    provider TEXT NOT NULL CONSTRAINT ck_mailbox_sign_ins_provider CHECK (provider IN ('google', 'microsoft')),
    address TEXT NOT NULL,
    verifier BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX ix_mailbox_sign_ins_account ON mailbox_sign_ins (account_id);
CREATE INDEX ix_mailbox_sign_ins_mailbox ON mailbox_sign_ins (mailbox_id);
CREATE INDEX ix_mailbox_sign_ins_created ON mailbox_sign_ins (created_at);
"""

# A refresh token is no password, and is not to be sent as one.
DOWN = """
UPDATE mailboxes
SET secret = '',
    state = CASE state WHEN 'leaving' THEN 'leaving' ELSE 'paused' END,
    problem = 'secret',
    problem_since = COALESCE(problem_since, now()),
    owner = NULL,
    owned_until = NULL,
    fence = fence + 1
WHERE login_method <> 'password';
ALTER TABLE mailboxes DROP COLUMN login_method;
DROP TABLE mailbox_sign_ins;
"""


def upgrade() -> None:
    op.execute(UP)


def downgrade() -> None:
    op.execute(DOWN)
