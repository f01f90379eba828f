"""The tables of the first release.

Earlier numbers are of states that were never released. A database that such a state upgraded to 0077 has the same
tables, and two views that nothing reads: kept_messages and mailbox_messages.

Revision ID: 0077
Revises:
"""

from pathlib import Path

from alembic import op

from snoozer.db import definitions

revision = "0077"
down_revision = None
branch_labels = None
depends_on = None

# Functions that indexes and the rows below use. The others need tables, and are made after the last migration.
FUNCTIONS = (
    "snooze_error_text",
    "snooze_error_class",
    "snooze_error_fingerprint",
    "snooze_recipient_domain",
    "snooze_timeline",
)

# Workers accept the server where the schema is made (decision 0012). The first checkpoint is a snapshot that sees no
# change of a list.
ROWS = """
INSERT INTO accepted_timelines (system_identifier, database_oid, timeline, accepted_by)
SELECT system_identifier, database_oid, timeline, 'migrate' FROM snooze_timeline();
INSERT INTO list_checkpoints (snapshot) SELECT CAST(pg_current_snapshot() AS text);
"""


def upgrade() -> None:
    connection = op.get_bind()
    definitions.create(connection, FUNCTIONS)
    tables = Path(__file__).with_suffix(".sql").read_text()
    connection.exec_driver_sql(tables, execution_options={"no_parameters": True})
    connection.exec_driver_sql(ROWS)
