"""One column names the snooze of a message, its own or that of its conversation, and keeps it.

Revision ID: 0120
Revises: 0111
"""

from alembic import op

revision = "0120"
down_revision = "0111"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE messages DROP CONSTRAINT ck_messages_return_is_whole")
    op.execute(
        """
        UPDATE messages
        SET snooze_id = its.snooze_id
        FROM (
            SELECT DISTINCT ON (message.id) message.id, COALESCE(message.snoozed_with, snooze.id) AS snooze_id
            FROM messages AS message
            LEFT JOIN email_snoozes AS snooze
                ON snooze.user_email = message.user_email
                AND snooze.message_id = message.message_id
                AND snooze.outcome IS NULL
            WHERE message.snooze_id IS NULL
              AND COALESCE(message.snoozed_with, snooze.id) IS NOT NULL
            ORDER BY message.id, snooze.inactive, snooze.id DESC
        ) AS its
        WHERE messages.id = its.id
        """
    )
    op.execute(
        "ALTER TABLE messages ADD CONSTRAINT ck_messages_return_is_whole "
        "CHECK (returns_at IS NULL OR snooze_id IS NOT NULL)"
    )
    # Processes of the release before still write the column; the next release drops it.
    op.execute("DROP INDEX ix_messages_snoozed_with")
    op.execute("CREATE INDEX ix_messages_snooze ON messages (snooze_id) WHERE snooze_id IS NOT NULL")
