"""Whose lists a transaction changed, so that an open page learns of it.

Revision ID: 0035
Revises: 0034
"""

from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

# A note is of a whole statement, and has a hash of each person's address: a page that looks once too often does no
# harm. A checkpoint is a snapshot (pg_current_snapshot): notes of transactions that the oldest one sees may be gone,
# all others are there. A crash of the server empties both tables; without a checkpoint nothing is known of any change.
TABLES = """
CREATE UNLOGGED TABLE list_changes (
    transaction_id BIGINT NOT NULL,
    people INTEGER[] NOT NULL
);
CREATE INDEX ix_list_changes_transaction ON list_changes (transaction_id);

CREATE UNLOGGED TABLE list_checkpoints (
    snapshot TEXT NOT NULL,
    taken_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO list_checkpoints (snapshot) SELECT CAST(pg_current_snapshot() AS text);
"""

INSERTED = """
CREATE FUNCTION list_changes_note_insert() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM fresh
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;

CREATE FUNCTION list_changes_note_delete() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(user_email))
    FROM gone
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;
"""

# Noted is what changes something that a list shows, so neither a claim nor its heartbeats. EXCEPT is a hash over both
# sets; a join of them would keep the plan that was made for the first ones, however few they were.
UPDATED = """
CREATE FUNCTION {table}_note_update() RETURNS TRIGGER
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO list_changes (transaction_id, people)
    SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint), array_agg(DISTINCT hashtext(changed.user_email))
    FROM (
        SELECT id, user_email, {shown} FROM fresh
        EXCEPT
        SELECT id, user_email, {shown} FROM gone
    ) AS changed
    HAVING count(*) > 0;
    RETURN NULL;
END
$$;
"""

TRIGGERS = """
CREATE TRIGGER {table}_note_insert
AFTER INSERT ON {table}
REFERENCING NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_insert();

CREATE TRIGGER {table}_note_update
AFTER UPDATE ON {table}
REFERENCING OLD TABLE AS gone NEW TABLE AS fresh
FOR EACH STATEMENT EXECUTE FUNCTION {table}_note_update();

CREATE TRIGGER {table}_note_delete
AFTER DELETE ON {table}
REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION list_changes_note_delete();
"""

SHOWN = {
    "email_snoozes": (
        "subject, sender_email, note, remind_at, COALESCE(scheduled_for, remind_at), inactive, outcome, recurrence, "
        "reply_policy, reply_scope"
    ),
    "kept_messages": "subject, sender_name, sender_email, folder, unread, surfaced_at, returned",
    "mailbox_messages": "place, wanted, folder, uidvalidity, uid, moving_to",
}

# What a program writes whose role may do nothing else is noted all the same; no table of its own may stand for ours.
AS_OWNER = """
DO $$
DECLARE
    name TEXT;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'list_changes_note_insert', 'list_changes_note_delete',
        'email_snoozes_note_update', 'kept_messages_note_update', 'mailbox_messages_note_update'
    ] LOOP
        EXECUTE format(
            'ALTER FUNCTION %I() SECURITY DEFINER SET search_path = %I, pg_temp', name, current_schema()
        );
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %I() FROM PUBLIC', name);
    END LOOP;
END
$$
"""


def upgrade() -> None:
    op.execute(TABLES)
    op.execute(INSERTED)
    for table, shown in SHOWN.items():
        op.execute(UPDATED.format(table=table, shown=shown))
        op.execute(TRIGGERS.format(table=table))
    op.execute(AS_OWNER)


def downgrade() -> None:
    for table in SHOWN:
        for act in ("insert", "update", "delete"):
            op.execute(f"DROP TRIGGER {table}_note_{act} ON {table}")
        op.execute(f"DROP FUNCTION {table}_note_update()")
    op.execute("DROP FUNCTION list_changes_note_insert(); DROP FUNCTION list_changes_note_delete()")
    op.execute("DROP TABLE list_checkpoints; DROP TABLE list_changes")
