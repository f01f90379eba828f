"""More than one address a person: each belongs to one account, and is entered once it is verified by a mailed code. The
ledger says to which one a reminder went, unless to that of the account.

Revision ID: 0110
Revises: 0097
"""

from alembic import op

revision = "0110"
down_revision = "0097"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE account_addresses (
            email text NOT NULL,
            account_id bigint NOT NULL,
            gets_mail boolean NOT NULL DEFAULT false,
            verified_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            CONSTRAINT pk_account_addresses PRIMARY KEY (email),
            CONSTRAINT fk_account_addresses_account FOREIGN KEY (account_id) REFERENCES accounts ON DELETE CASCADE
        )
        """
    )
    op.execute("CREATE INDEX ix_account_addresses_account ON account_addresses (account_id)")
    op.execute("CREATE UNIQUE INDEX uq_account_addresses_gets_mail ON account_addresses (account_id) WHERE gets_mail")
    op.execute("ALTER TABLE sign_ins ADD COLUMN address text")
    op.execute("ALTER TABLE reminder_sends ADD COLUMN recipient text")
    op.execute("ALTER TABLE reminder_sends_archive ADD COLUMN recipient text")
