"""Messages of connected mailboxes that are put elsewhere, and not snoozed: done, or taken to the inbox, many at once.

Revision ID: 0044
Revises: 0043
"""

from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

# `aside` is the other folder of a message that is moved from `home` to it, or from it to `home`, for its owner and for
# no snooze: a place like the other two.
ASIDE = """
ALTER TABLE mailbox_messages
    ADD COLUMN aside TEXT,
    DROP CONSTRAINT ck_mailbox_messages_place,
    ADD CONSTRAINT ck_mailbox_messages_place CHECK (place IN ('home', 'snoozed', 'aside', 'missing')),
    DROP CONSTRAINT ck_mailbox_messages_wanted,
    ADD CONSTRAINT ck_mailbox_messages_wanted CHECK (wanted IN ('home', 'snoozed', 'aside')),
    DROP CONSTRAINT ck_mailbox_messages_moving_to,
    ADD CONSTRAINT ck_mailbox_messages_moving_to CHECK (moving_to IN ('home', 'snoozed', 'aside')),
    ADD CONSTRAINT ck_mailbox_messages_aside_has_its_folder CHECK (aside IS NOT NULL OR 'aside' NOT IN (place, wanted));
"""

DOWN = """
UPDATE mailbox_messages SET place = 'home', wanted = 'home' WHERE 'aside' IN (place, wanted);
ALTER TABLE mailbox_messages
    DROP COLUMN aside,
    DROP CONSTRAINT ck_mailbox_messages_place,
    ADD CONSTRAINT ck_mailbox_messages_place CHECK (place IN ('home', 'snoozed', 'missing')),
    DROP CONSTRAINT ck_mailbox_messages_wanted,
    ADD CONSTRAINT ck_mailbox_messages_wanted CHECK (wanted IN ('home', 'snoozed')),
    DROP CONSTRAINT ck_mailbox_messages_moving_to,
    ADD CONSTRAINT ck_mailbox_messages_moving_to CHECK (moving_to IN ('home', 'snoozed'));
"""

# A snooze that ends leaves a message that was put aside where it is.
FOLLOW = """
CREATE OR REPLACE FUNCTION email_snoozes_move_mailbox_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
DECLARE
    at TIMESTAMPTZ := CASE WHEN NOT NEW.inactive THEN snooze_return_at(NEW) END;
BEGIN
    -- What repeats is promised anew once its reminder was sent, which may be before its message is back: that comes
    -- first, and the new promise is entered with it.
    UPDATE mailbox_messages
    SET returns_at = at,
        snooze_id = CASE WHEN at IS NOT NULL THEN NEW.id END,
        wanted = CASE WHEN {is_over} THEN 'home' ELSE wanted END,
        updated_at = CURRENT_TIMESTAMP
    WHERE user_email = NEW.user_email
      AND message_id = NEW.message_id
      AND (NOT NEW.inactive OR snooze_id = NEW.id OR (NEW.outcome = 'cancelled' AND returns_at IS NULL))
      AND NOT (
          NOT NEW.inactive
          AND NEW.recurrence IS NOT NULL
          AND place <> 'home'
          AND COALESCE(returns_at <= clock_timestamp(), FALSE)
      );
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION email_snoozes_forget_mailbox_return() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE mailbox_messages AS message
    SET returns_at = NULL,
        snooze_id = NULL,
        wanted = {wanted},
        updated_at = CURRENT_TIMESTAMP
    FROM gone
    WHERE message.user_email = gone.user_email
      AND message.message_id = gone.message_id
      AND message.snooze_id = gone.id;
    RETURN NULL;
END
$$;
"""

AS_OWNER = """
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY['email_snoozes_move_mailbox_return', 'email_snoozes_forget_mailbox_return'] LOOP
        EXECUTE format(
            'ALTER FUNCTION %I() SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema()
        );
    END LOOP;
END
$$
"""


def upgrade() -> None:
    op.execute(ASIDE)
    follow(
        is_over="NEW.outcome = 'cancelled' AND wanted = 'snoozed'",
        wanted="CASE wanted WHEN 'snoozed' THEN 'home' ELSE wanted END",
    )


def downgrade() -> None:
    op.execute(DOWN)
    follow(is_over="NEW.outcome = 'cancelled'", wanted="'home'")


def follow(*, is_over: str, wanted: str) -> None:
    """The two functions; CREATE OR REPLACE forgets whose rights they run with."""
    op.execute(FOLLOW.replace("{is_over}", is_over).replace("{wanted}", wanted))
    op.execute(AS_OWNER)
