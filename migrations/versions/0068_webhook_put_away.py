"""Webhooks: a message of a connected mailbox that its person puts away is done.

Revision ID: 0068
Revises: 0067
"""

from alembic import op

revision = "0068"
down_revision = "0067"
branch_labels = None
depends_on = None

# Where Snoozer keeps the message, its folder says so. Elsewhere only the acts of a reminder's links did: a message that
# its person archives on a page has its row in mailbox_messages alone, which entered nothing. What was marked as done
# already, by a link of the same promise, is not done again by that.
PUT_AWAY = """
CREATE FUNCTION mailbox_messages_webhook_done() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on) THEN
        RETURN NULL;
    END IF;
    PERFORM webhook_enter_done(NEW.user_email, NEW.message_id, send.snooze_id)
    FROM (
        SELECT reminder_sends.snooze_id, reminder_sends.scheduled_for
        FROM reminder_sends
        WHERE reminder_sends.user_email = NEW.user_email
          AND reminder_sends.message_id = NEW.message_id
        ORDER BY reminder_sends.scheduled_for DESC
        LIMIT 1
    ) AS send
    WHERE COALESCE((
        SELECT event.kind <> 'done'
        FROM snooze_events AS event
        WHERE event.snooze_id = send.snooze_id
          AND event.kind IN ('done', 'again', 'undone')
          AND CAST(event.detail ->> 'promise' AS timestamptz) = send.scheduled_for
        ORDER BY event.id DESC
        LIMIT 1
    ), TRUE);
    RETURN NULL;
END
$$;

CREATE TRIGGER mailbox_messages_webhook_done
AFTER UPDATE OF place ON mailbox_messages
FOR EACH ROW
WHEN (NEW.place = 'aside' AND NEW.wanted = 'aside' AND OLD.place <> 'aside')
EXECUTE FUNCTION mailbox_messages_webhook_done();
"""

DOWN = """
DROP TRIGGER mailbox_messages_webhook_done ON mailbox_messages;
DROP FUNCTION mailbox_messages_webhook_done();
"""


def upgrade() -> None:
    op.execute(PUT_AWAY)


def downgrade() -> None:
    op.execute(DOWN)
