"""Create an engine: one per process, whose connections notice a server that is gone or hangs.

Every wait for the database has a timeout on the client's side. After a timeout it is unknown whether the statement was
executed, is running, or will run once the server continues: the connection is closed and never used again.
"""

import asyncio
import gc
import json
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Event
from typing import Any, TypeVar

import psycopg
from psycopg import waiting
from psycopg.abc import PQGen
from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DisconnectionError, InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from sqlalchemy.util import await_only, greenlet_spawn

from snoozer.db.errors import READ_ONLY
from snoozer.db.statements import execute, statement

T = TypeVar("T")
A = TypeVar("A")

STATEMENT_TIMEOUT = 30
# The server cancels a slow statement first; without a reply by then, the server or the network hangs.
READ_TIMEOUT = STATEMENT_TIMEOUT + 5.0
SHUTDOWN_READ_TIMEOUT = 5.0
CONNECT_TIMEOUT = 5
IDLE_TIMEOUT, MIN_IDLE_TIMEOUT = 60.0, 4.0
# A loaded machine lets a process stand still for seconds.
PAUSE = 20.0
# Postgres keeps the generic plan of a prepared statement until its tables are analyzed. One made while a table held a
# single page scans the whole table, also after it has grown a thousandfold.
PLAN_MAX_USES = 200
POOL_SIZE, MAX_OVERFLOW = 5, 2
PING_AFTER = 0.5
# Override what an administrator set for the role or the database: psycopg reads times in this format only, and
# statements rely on seeing what was committed while they waited for a row.
_SESSION_SETTINGS = r"-c timezone=UTC -c datestyle=ISO -c default_transaction_isolation=read\ committed"
# The server detects a vanished client within a minute; by default it keeps the session, and its locks, for two hours.
_SERVER_KEEPALIVES = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"

# The planner still chooses a discouraged plan if no other exists; its estimated cost would start the JIT. To plan a
# statement for its values took longer than to execute it, and led to the same plan; a plan that is kept must not be
# one for an empty table. psycopg would have a session plan each statement five times before it prepares it: longer
# than a batch takes.
_BY_INDEX = [
    "-c enable_seqscan=off",
    "-c enable_bitmapscan=off",
    "-c enable_sort=off",
    "-c jit=off",
    "-c plan_cache_mode=force_generic_plan",
]

# How often a wait checks whether it timed out.
POLL_INTERVAL = 0.1
# libpq accepts no less.
MIN_CONNECT_TIMEOUT = 2
# When a wait ends, by when it began (both monotonic).
_end_of: ContextVar[Callable[[float], float] | None] = ContextVar("end_of", default=None)


# Whether this code runs by `on_loop`.
_on_loop: ContextVar[bool] = ContextVar("on_loop", default=False)


class QueryTimeout(psycopg.OperationalError):
    """The server sent no reply in time."""

    def __init__(self) -> None:
        super().__init__("it gave no answer in time")


class TimeoutConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed when a reply takes longer than `read_timeout()` seconds, called during the wait.

    psycopg has no client-side timeout for a query. As of psycopg 3.3 every query of a synchronous connection goes
    through `Connection.wait`, which is public but not meant for subclasses: tests/db/test_hanging.py fails when a
    version removes it or changes its parameters.
    """

    read_timeout: Callable[[], float]

    def wait(self, gen: PQGen[T], interval: float = POLL_INTERVAL, timeout: float | None = None) -> T:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            if _on_loop.get():
                return await_only(waiting.wait_async(self._until_timeout(gen), self.fileno(), interval))
            return super().wait(self._until_timeout(gen), interval)
        except QueryTimeout:
            self.close()
            raise

    def _until_timeout(self, gen: PQGen[T]) -> PQGen[T]:
        began, end_of = time.monotonic(), _end_of.get()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > (end_of(began) if end_of else began + self.read_timeout()):
                    raise QueryTimeout
                wanted = gen.send(ready)
        except StopIteration as done:
            reply: T = done.value
            return reply


def make_engine(
    url: str,
    *,
    name: str,
    pool_size: int = POOL_SIZE,
    pgbouncer: bool = False,
    ping_after: float = PING_AFTER,
    idle: float = IDLE_TIMEOUT,
    read_timeout: Callable[[], float] = lambda: READ_TIMEOUT,
    by_index: bool = False,
) -> Engine:
    """An engine for `url` (postgresql+psycopg://). No connection is opened yet.

    `name` shows in pg_stat_activity. A connection that was idle for `ping_after` seconds is pinged at checkout. Behind
    pgbouncer in transaction mode nothing is kept in a session: no prepared statements and no start-up options.

    The server ends a transaction that is idle for `idle` seconds, at least four: its client is frozen, and holds locks.
    A connection without a reply for `read_timeout()` seconds is closed as lost.

    With `by_index`, queries read the first rows in the order of an index, whatever the statistics of a table say. If
    the statistics are half a million rows behind, the planner expects a dozen rows, and reads and sorts them all.
    """
    arguments: dict[str, object] = {
        "application_name": f"snoozer-{name}",
        "client_encoding": "utf8",  # Else PGCLIENTENCODING decides, or the database.
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
    }
    limits = {
        "statement_timeout": f"{STATEMENT_TIMEOUT}s",
        "idle_in_transaction_session_timeout": f"{max(idle, MIN_IDLE_TIMEOUT):.0f}s",
    }
    if pgbouncer:
        arguments["prepare_threshold"] = None
    else:
        options = [f"-c {name}={value}" for name, value in limits.items()]
        if by_index:
            options += _BY_INDEX
            arguments["prepare_threshold"] = 0
        arguments["options"] = " ".join([*options, _SESSION_SETTINGS, _SERVER_KEEPALIVES])
    engine = create_engine(
        url,
        connect_args=arguments,
        pool_size=pool_size,
        max_overflow=MAX_OVERFLOW,
        pool_timeout=CONNECT_TIMEOUT,
        hide_parameters=True,
        isolation_level="READ COMMITTED",  # Also for transactions behind a pooler.
        json_deserializer=_json,
    )
    event.listen(engine, "do_connect", partial(open_connection, within=CONNECT_TIMEOUT, read_timeout=read_timeout))
    event.listen(engine, "handle_error", _disconnect_from_read_only)
    # The error of a lost session and the frames that hold the session refer to each other: 12 kB each time.
    event.listen(engine, "invalidate", lambda *lost: gc.collect())
    event.listen(engine, "checkout", partial(_ping_if_idle, ping_after=ping_after))
    if pgbouncer:
        event.listen(engine, "begin", partial(_limit, limits=limits))
    else:
        event.listen(engine, "checkout", _discard_old_plans)
    return engine


def read_timeout_until(stopping: Event) -> Callable[[], float]:
    """The read timeout of a process: once `stopping` is set, shorter than hosts wait before they kill it."""
    return lambda: SHUTDOWN_READ_TIMEOUT if stopping.is_set() else READ_TIMEOUT


async def on_loop(function: Callable[[A], T], argument: A) -> T:
    """Call a function that uses an engine. While it waits for the database, or for a connection, the event loop goes
    on; while it waits for the pool, nothing does. The engine must have connected before."""
    token = _on_loop.set(True)
    try:
        return await greenlet_spawn(function, argument)
    finally:
        _on_loop.reset(token)


def autocommit(engine: Engine) -> Connection:
    """A connection in which each statement is its own transaction: one round trip instead of three."""
    return engine.connect().execution_options(isolation_level="AUTOCOMMIT")


def limit_transaction(connection: Connection, *, seconds: float) -> None:
    """Limit each statement, and idle time, in this transaction, so that a caller that polls leaves nothing running. A
    process that pauses for a moment between two statements does not count as idle."""
    limit, idle = (f"{limited * 1000:.0f}ms" for limited in (seconds, max(seconds, PAUSE)))
    execute(connection, "session/limits", statement_timeout=limit, idle_in_transaction_session_timeout=idle)


def _json(text: str | bytes) -> Any:
    """The value of a JSON column; an empty object if Python cannot parse what Postgres stores, such as a number of five
    thousand digits, so that one such row does not fail the statement that returns others."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def _ping_if_idle(
    raw: "psycopg.Connection[object]",
    entry: ConnectionPoolEntry,
    checked_out: PoolProxiedConnection,
    *,
    ping_after: float,
) -> None:
    now = time.monotonic()
    unused, entry.info["used"] = now - entry.info.get("used", now), now
    if unused > ping_after:
        _execute_raw(raw, "session/ping")


def _discard_old_plans(
    raw: "psycopg.Connection[object]", entry: ConnectionPoolEntry, checked_out: PoolProxiedConnection
) -> None:
    """Replan the prepared statements of a session every PLAN_MAX_USES checkouts."""
    uses = entry.info["uses"] = entry.info.get("uses", 0) + 1
    if uses % PLAN_MAX_USES == 0:
        _execute_raw(raw, "session/discard_plans")


def _disconnect_from_read_only(context: ExceptionContext) -> None:
    """Drop all sessions with a server that is read-only, so that the next one is opened with the primary."""
    if getattr(context.original_exception, "sqlstate", None) == READ_ONLY:
        context.is_disconnect = True


def _limit(connection: Connection, *, limits: dict[str, str]) -> None:
    """Behind a pooler sessions are shared, so the limits are set in each transaction."""
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.execute(statement("session/limits"), limits)


def _execute_raw(raw: "psycopg.Connection[object]", name: str) -> None:
    """Execute one statement outside any transaction. The pool replaces a lost session, and all sessions if this one
    hangs. The statement gets half of the remaining time; the other half is for the new session."""
    try:
        with deadline(min(CONNECT_TIMEOUT, remaining(2 * CONNECT_TIMEOUT) / 2)):
            raw.autocommit = True
            raw.execute(statement(name).text.encode(), prepare=False)
            raw.autocommit = False
    except QueryTimeout as timeout:
        raise InvalidatePoolError from timeout
    except psycopg.Error as lost:
        raise DisconnectionError from lost


def open_connection(
    dialect: Dialect,
    entry: ConnectionPoolEntry,
    cargs: list[Any],
    cparams: dict[str, Any],
    *,
    within: int,
    read_timeout: Callable[[], float],
) -> TimeoutConnection:
    """Open a connection for an engine's pool within this many seconds, or fewer under a `deadline`."""
    seconds = max(int(remaining(within)), MIN_CONNECT_TIMEOUT)
    connect = partial(TimeoutConnection.connect, *cargs, **cparams | {"connect_timeout": seconds})
    connection = await_only(asyncio.get_running_loop().run_in_executor(None, connect)) if _on_loop.get() else connect()
    connection.read_timeout = read_timeout
    return connection


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Everything inside, opening connections included, ends within this many seconds or raises QueryTimeout."""
    ends = time.monotonic() + seconds
    yield from _ending(lambda began: ends)


@contextmanager
def per_query_timeout(seconds: float) -> Iterator[None]:
    """Each query inside may take this many seconds, whatever the connection's read timeout."""
    yield from _ending(lambda began: began + seconds)


def remaining(limit: float) -> float:
    """Seconds until the deadline in force, at most `limit`; `limit` if no deadline is set."""
    end_of, now = _end_of.get(), time.monotonic()
    return limit if end_of is None else min(limit, end_of(now) - now)


def _ending(end_of: Callable[[float], float]) -> Generator[None, None, None]:
    token = _end_of.set(end_of)
    try:
        yield
    finally:
        _end_of.reset(token)
