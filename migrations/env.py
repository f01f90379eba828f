"""Alembic's entrance: one migration at a time, and never a long wait for a lock."""

from alembic import context
from sqlalchemy import Connection, text

from snoozer.db import definitions
from snoozer.db.models import metadata

LOCK_TIMEOUT = "5s"
STATEMENT_TIMEOUT = "10min"
ONE_AT_A_TIME = 7_266_837_001


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata)
    with context.begin_transaction():
        # Before the first lock: another one's migration may take as long as ours may, and is waited for.
        connection.execute(text(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'"))
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ONE_AT_A_TIME})
        connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"))
        if context.get_context().get_current_revision() not in (None, context.get_revision_argument()):
            # The strongest lock before any other: one that becomes stronger deadlocks with a claim, which has read.
            connection.execute(text("LOCK TABLE email_snoozes IN ACCESS EXCLUSIVE MODE"))
        context.run_migrations()
        if context.get_revision_argument() == context.get_head_revision():
            definitions.apply(connection)


migrate(context.config.attributes["connection"])
