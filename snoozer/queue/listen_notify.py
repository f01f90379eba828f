"""LISTEN for inserted rows that are due soon (trigger `email_snoozes_inserted`). Polling finds what is missed."""

import logging
import time
from collections.abc import Callable

import psycopg
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import OperationalError

from snoozer.db.engine import CONNECT_TIMEOUT, autocommit, deadline
from snoozer.db.errors import error_text
from snoozer.db.statements import execute
from snoozer.runtime.loop import FIRST_WAIT, Loop

log = logging.getLogger(__name__)

# Seconds in which a stop is noticed.
POLL_INTERVAL = 0.5
# Silence may mean that nothing happens, that the server hangs, or that it is no longer a primary: check this often.
CHECK_INTERVAL = 10.0


def notify_listener(engine: Engine, *, on_notify: Callable[[], None], first_wait: float = FIRST_WAIT) -> Loop:
    """Calls `on_notify` from its own thread until it is stopped; reconnects when its connection is cut: soon at
    first, later while the database is unavailable."""

    def turn() -> float:
        listen(engine, on_notify=on_notify, until=loop.stopping.is_set)
        return 0.0

    loop = Loop(
        turn,
        name="notify-listener",
        first_wait=first_wait,
        report=lambda error: log.info("no notifications for a moment: %s", error_text(error)),
    )
    return loop


def listen(
    engine: Engine,
    *,
    on_notify: Callable[[], None],
    until: Callable[[], bool],
    check_interval: float = CHECK_INTERVAL,
    check_timeout: float = CONNECT_TIMEOUT,
) -> None:
    """Call `on_notify` for each notification, until `until()` is true or the server takes no writes any more.

    Calls it at the beginning, too, because notifications sent before are unknown. Raises SQLAlchemyError if the
    connection is lost or the server hangs.
    """
    with autocommit(engine) as connection:
        execute(connection, "session/listen")
        on_notify()
        try:
            _receive(connection, on_notify=on_notify, until=until, seconds=check_interval)
            while not until() and _is_writable(connection, within=check_timeout):
                _receive(connection, on_notify=on_notify, until=until, seconds=check_interval)
        except psycopg.Error as lost:
            connection.invalidate()
            raise OperationalError("LISTEN", None, lost) from lost
        connection.invalidate()


def _receive(
    connection: Connection, *, on_notify: Callable[[], None], until: Callable[[], bool], seconds: float
) -> None:
    ends = time.monotonic() + seconds
    raw = connection.connection.driver_connection
    while not until() and time.monotonic() < ends:
        for _ in raw.notifies(timeout=POLL_INTERVAL, stop_after=1):  # type: ignore[union-attr]
            on_notify()


def _is_writable(connection: Connection, *, within: float) -> bool:
    with deadline(within):
        return bool(execute(connection, "session/is_writable").scalar_one())
