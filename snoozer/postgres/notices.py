"""What the database says unasked: a row came in that is due soon (trigger `email_snoozes_due_soon`)."""

from collections.abc import Callable

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError

from snoozer.postgres.engine import at_once
from snoozer.postgres.statements import run

LOOK_SECONDS = 0.5


def listen(engine: Engine, *, heard: Callable[[], None], until: Callable[[], bool]) -> None:
    """Call `heard` for each notice, until `until` says so. Raises SQLAlchemyError when the connection is lost.

    It is called at the beginning, too: nobody knows what was said before.
    """
    with at_once(engine) as connection:
        run(connection, "waiting/listen")
        heard()
        raw = connection.connection.driver_connection
        try:
            while not until():
                for _ in raw.notifies(timeout=LOOK_SECONDS, stop_after=1):  # type: ignore[union-attr]
                    heard()
        except psycopg.Error as lost:
            connection.invalidate()
            raise OperationalError("LISTEN", None, lost) from lost
        connection.invalidate()
