"""What the database says unasked: a row came in that is due soon (trigger `email_snoozes_due_soon`)."""

import time
from collections.abc import Callable

import psycopg
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from snoozer.db.engine import CONNECT_TIMEOUT, autocommit
from snoozer.db.statements import execute
from snoozer.db.timeouts import deadline

LOOK_SECONDS = 0.5
# Who says nothing may have nothing to say, or hang, or be a primary that was left for another one.
LIFE_SECONDS = 10.0


def listen(engine: Engine, *, heard: Callable[[], None], until: Callable[[], bool]) -> None:
    """Call `heard` for each notice, until `until` says so, or the server takes no writes any more: rows come in
    elsewhere. Raises SQLAlchemyError when the connection is lost or the server hangs.

    It is called at the beginning, too: nobody knows what was said before.
    """
    with autocommit(engine) as connection:
        execute(connection, "session/listen")
        heard()
        try:
            _hear(connection, heard=heard, until=until)
            while not until() and _takes_writes(connection):
                _hear(connection, heard=heard, until=until)
        except psycopg.Error as lost:
            connection.invalidate()
            raise OperationalError("LISTEN", None, lost) from lost
        connection.invalidate()


def _hear(connection: Connection, *, heard: Callable[[], None], until: Callable[[], bool]) -> None:
    ends = time.monotonic() + LIFE_SECONDS
    raw = connection.connection.driver_connection
    while not until() and time.monotonic() < ends:
        for _ in raw.notifies(timeout=LOOK_SECONDS, stop_after=1):  # type: ignore[union-attr]
            heard()


def _takes_writes(connection: Connection) -> bool:
    with deadline(CONNECT_TIMEOUT):
        return bool(execute(connection, "session/is_writable").scalar_one())
