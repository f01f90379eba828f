"""People: accounts, the ways they sign in, and the tokens their programs carry. Secrets are kept as sha256 only.

Revision ID: 0004
Revises: 0003
"""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE accounts (
    id BIGSERIAL CONSTRAINT pk_accounts PRIMARY KEY,
    email TEXT NOT NULL,
    role TEXT NOT NULL DEFAULT 'user',
    zone TEXT NOT NULL DEFAULT 'UTC',
    locale TEXT NOT NULL DEFAULT 'en_GB',
    verified_at TIMESTAMPTZ,
    disabled_at TIMESTAMPTZ,
    zone_chosen BOOLEAN NOT NULL DEFAULT FALSE,
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    CONSTRAINT uq_accounts_email UNIQUE (email),
    CONSTRAINT ck_accounts_role CHECK (role IN ('user', 'operator', 'admin')),
    CONSTRAINT ck_accounts_email_is_folded CHECK (email = lower(email))
);

CREATE TABLE sign_ins (
    id BIGSERIAL CONSTRAINT pk_sign_ins PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_sign_ins_account REFERENCES accounts (id) ON DELETE CASCADE,
    token_hash TEXT NOT NULL,
    code_hash TEXT,
    browser_hash TEXT,
    code_tries SMALLINT NOT NULL DEFAULT 0,
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    expires_at TIMESTAMPTZ NOT NULL,
    used_at TIMESTAMPTZ,
    CONSTRAINT uq_sign_ins_token_hash UNIQUE (token_hash)
);
CREATE INDEX ix_sign_ins_account ON sign_ins (account_id, created_at);
CREATE INDEX ix_sign_ins_browser ON sign_ins (browser_hash) WHERE used_at IS NULL;

CREATE TABLE sessions (
    id BIGSERIAL CONSTRAINT pk_sessions PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_sessions_account REFERENCES accounts (id) ON DELETE CASCADE,
    token_hash TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    seen_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_sessions_token_hash UNIQUE (token_hash)
);
CREATE INDEX ix_sessions_account ON sessions (account_id);

CREATE TABLE api_tokens (
    id BIGSERIAL CONSTRAINT pk_api_tokens PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_api_tokens_account REFERENCES accounts (id) ON DELETE CASCADE,
    token_hash TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    revoked_at TIMESTAMPTZ,
    CONSTRAINT uq_api_tokens_token_hash UNIQUE (token_hash)
);
CREATE INDEX ix_api_tokens_account ON api_tokens (account_id);

CREATE TABLE idempotency_keys (
    account_id BIGINT NOT NULL CONSTRAINT fk_idempotency_keys_account REFERENCES accounts (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    request_sha256 TEXT NOT NULL,
    status SMALLINT NOT NULL,
    body TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (account_id, key)
);
CREATE INDEX ix_idempotency_keys_created_at ON idempotency_keys (created_at);
"""


def upgrade() -> None:
    op.execute(TABLES)


def downgrade() -> None:
    op.execute("DROP TABLE idempotency_keys, api_tokens, sessions, sign_ins, accounts")
