"""One trigger for what follows the insertion of snoozes, and one for their deletion; there were six.

Revision ID: 0075
Revises: 0074
"""

from alembic import op

revision = "0075"
down_revision = "0074"
branch_labels = None
depends_on = None

TRIGGER = """
CREATE FUNCTION {function}() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
{body}    RETURN NULL;
END
$$;
"""
NOTE_INSERT = """\
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM fresh
    HAVING count(*) > 0;
"""
DUE_SOON = """\
    IF EXISTS (
        SELECT 1
        FROM fresh
        WHERE NOT inactive
          AND remind_at <= clock_timestamp() + INTERVAL '2 seconds'
    ) THEN
        PERFORM pg_notify('snooze_due', '');
    END IF;
"""
PROMISE_RETURN = """\
    UPDATE messages AS message
    SET returns_at = due.at,
        snooze_id = CASE WHEN due.at IS NOT NULL THEN due.id END,
        updated_at = CURRENT_TIMESTAMP
    FROM (
        SELECT snooze.id, its.id AS its_id, snooze_return_at(snooze) AS at
        FROM fresh
        JOIN email_snoozes AS snooze ON snooze.id = fresh.id
        JOIN messages AS its ON its.user_email = fresh.user_email AND its.message_id = fresh.message_id
        WHERE NOT fresh.inactive
    ) AS due
    WHERE message.id = due.its_id;
"""
MANY_UNKNOWN = """\
    -- Most inserts are about no message that is known, and asking costs less than an UPDATE of no row.
"""
WEBHOOK_INSERT = """\
    PERFORM webhook_enter(
        fresh.user_email, 'created', fresh.id, COALESCE(jsonb_typeof(fresh.recurrence), 'null') <> 'null',
        COALESCE(fresh.scheduled_for, fresh.remind_at), fresh.remind_at, fresh.reference, fresh.subject
    )
    FROM (
        SELECT *
        FROM fresh
        WHERE outcome IS NULL
          AND lower(user_email) IN (
              SELECT accounts.email
              FROM webhook_endpoints AS endpoint
              JOIN accounts ON accounts.id = endpoint.account_id
              WHERE endpoint.is_on
          )
        ORDER BY id
    ) AS fresh;
"""
IS_KNOWN = "EXISTS (SELECT 1 FROM fresh JOIN messages USING (user_email, message_id))"
HAS_WEBHOOKS = "EXISTS (SELECT 1 FROM webhook_endpoints WHERE is_on)"
FORGET_RETURN = """\
    UPDATE messages AS message
    SET returns_at = NULL,
        snooze_id = NULL,
        folder = CASE WHEN message.is_kept AND message.folder = 'snoozed' THEN 'inbox' ELSE message.folder END,
        wanted = CASE message.wanted WHEN 'snoozed' THEN 'home' ELSE message.wanted END,
        updated_at = CURRENT_TIMESTAMP
    FROM gone
    WHERE message.user_email = gone.user_email
      AND message.message_id = gone.message_id
      AND message.snooze_id = gone.id;
"""


def only_if(condition: str, body: str) -> str:
    return f"    IF {condition} THEN\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "    END IF;\n"


def unless(condition: str, body: str) -> str:
    return f"    IF NOT {condition} THEN\n        RETURN NULL;\n    END IF;\n{body}"


INSERTED = TRIGGER.format(
    function="email_snoozes_inserted",
    body=NOTE_INSERT
    + DUE_SOON
    + MANY_UNKNOWN
    + only_if(IS_KNOWN, PROMISE_RETURN)
    + only_if(HAS_WEBHOOKS, WEBHOOK_INSERT),
)
DELETED = TRIGGER.format(
    function="email_snoozes_deleted", body=NOTE_INSERT.replace("FROM fresh", "FROM gone") + FORGET_RETURN
)
ON_INSERT = """
CREATE TRIGGER email_snoozes_{trigger} AFTER INSERT ON email_snoozes REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION {function}()
"""
ON_DELETE = """
CREATE TRIGGER email_snoozes_{trigger} AFTER DELETE ON email_snoozes REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION {function}()
"""
# Trigger to function.
ONE_ON_INSERT = {"inserted": "email_snoozes_inserted"}
ONE_ON_DELETE = {"deleted": "email_snoozes_deleted"}
FOUR_ON_INSERT = {
    "due_soon": "snooze_due_soon",
    "note_insert": "list_changes_note_insert",
    "promise_return": "email_snoozes_promise_return",
    "webhook_insert": "email_snoozes_webhook_insert",
}
TWO_ON_DELETE = {"forget_return": "email_snoozes_forget_return", "note_delete": "list_changes_note_delete"}
# The functions that notes of `messages` need stay.
NO_LONGER_CALLED = (
    "snooze_due_soon(), email_snoozes_promise_return(), email_snoozes_webhook_insert(), email_snoozes_forget_return()"
)


def replace(old: tuple[dict[str, str], dict[str, str]], new: tuple[dict[str, str], dict[str, str]]) -> None:
    for trigger in [*old[0], *old[1]]:
        op.execute(f"DROP TRIGGER email_snoozes_{trigger} ON email_snoozes")
    for form, triggers in zip((ON_INSERT, ON_DELETE), new, strict=True):
        for trigger, function in triggers.items():
            op.execute(form.format(trigger=trigger, function=function))


def upgrade() -> None:
    op.execute(INSERTED)
    op.execute(DELETED)
    replace((FOUR_ON_INSERT, TWO_ON_DELETE), (ONE_ON_INSERT, ONE_ON_DELETE))
    op.execute(f"DROP FUNCTION {NO_LONGER_CALLED}")


def downgrade() -> None:
    op.execute(TRIGGER.format(function="snooze_due_soon", body=DUE_SOON))
    op.execute("ALTER FUNCTION snooze_due_soon() SECURITY INVOKER RESET ALL")
    op.execute(
        TRIGGER.format(function="email_snoozes_promise_return", body=MANY_UNKNOWN + unless(IS_KNOWN, PROMISE_RETURN))
    )
    op.execute(TRIGGER.format(function="email_snoozes_webhook_insert", body=unless(HAS_WEBHOOKS, WEBHOOK_INSERT)))
    op.execute(TRIGGER.format(function="email_snoozes_forget_return", body=FORGET_RETURN))
    replace((ONE_ON_INSERT, ONE_ON_DELETE), (FOUR_ON_INSERT, TWO_ON_DELETE))
    op.execute("DROP FUNCTION email_snoozes_inserted(), email_snoozes_deleted()")
