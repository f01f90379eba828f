"""Alembic's entrance: one `migrate` at a time, and never a long wait for a lock."""

from alembic import context
from sqlalchemy import Connection, text

from snoozer.db import definitions, pending
from snoozer.db.models import metadata

# Others queue behind a wait for a lock, so it is short, and `schema.upgrade` tries again. Shorter than PostgreSQL's
# deadlock_timeout of 1 s, so that of a deadlock the migration is the victim, and no worker or request.
LOCK_TIMEOUT = "800ms"
STATEMENT_TIMEOUT = "10min"
ONE_AT_A_TIME = 7_266_837_001


def migrate(connection: Connection) -> None:
    context.configure(connection=connection, target_metadata=metadata)
    with context.begin_transaction():
        # Before the first lock: another one's migration may take as long as ours may, and is waited for.
        connection.execute(text(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'"))
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": ONE_AT_A_TIME})
        if context.get_context().get_current_revision() not in (None, context.get_revision_argument()):
            # The other connection takes as long as it takes, while this one keeps others from doing the same.
            connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
            migrations = pending.migrations(connection, until=str(context.get_revision_argument()))
            pending.make_indexes(connection.engine, migrations, statement_timeout=STATEMENT_TIMEOUT)
            # The strongest locks at once: a lock that is upgraded later deadlocks with a claim, which has read.
            pending.lock(connection, migrations)
        connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'"))
        context.run_migrations()
        if context.get_revision_argument() == context.get_head_revision():
            definitions.apply(connection)


migrate(context.config.attributes["connection"])
