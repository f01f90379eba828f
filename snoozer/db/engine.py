"""The way to the database: one engine a process, connections that notice a dead server."""

import json
import re
import time
from collections.abc import Callable
from functools import partial
from threading import Event
from typing import Any
from urllib.parse import quote

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import ArgumentError, DisconnectionError, InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from snoozer.db.errors import READ_ONLY
from snoozer.db.statements import execute, statement
from snoozer.db.timeouts import QueryTimeout, deadline, open_connection, remaining

STATEMENT_TIMEOUT = 30
# The server ends a statement that takes too long; where it has not said so by then, it hangs, or the way to it.
READ_TIMEOUT = STATEMENT_TIMEOUT + 5.0
SHUTDOWN_READ_TIMEOUT = 5.0
CONNECT_TIMEOUT = 5
IDLE_TIMEOUT, MIN_IDLE_TIMEOUT = 60.0, 5.0
# A prepared statement is planned for good once it was used a few times, until somebody analyzes its tables. A plan made
# while a table held one page reads all of it, and goes on doing so while the table grows a thousandfold.
PLAN_MAX_USES = 200
PING_AFTER = 0.5
# Whatever an administrator set for the role or the database: times written otherwise cannot be read, and statements
# are to see what others did while they waited for a row.
_AS_WE_EXPECT = r"-c timezone=UTC -c datestyle=ISO -c default_transaction_isolation=read\ committed"
# Who vanished is missed within a minute; by default the server keeps the session, and its place, for two hours.
_LOOK_FOR_US = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"

# scheme://user:password@ host:port,host:port /name ?query
_HOSTS = re.compile(r"(\w[\w+]*://(?:[^/?#]*@)?)([^/?#@]*,[^/?#@]*)(/[^?#]*)?(\?[^#]*)?")
_PORT = re.compile(r":\d+$")


def parse_url(text: str) -> str:
    """DATABASE_URL as `connect` takes it. Raises ValueError, whose text is one sentence without the password."""
    several = _HOSTS.fullmatch(text)
    try:
        url = make_url(_as_query(several) if several else text)
    except (ArgumentError, ValueError):
        raise ValueError("DATABASE_URL is not a URL such as postgresql://user:password@host:5432/name") from None
    if url.drivername not in {"postgres", "postgresql", "postgresql+psycopg"}:
        raise ValueError(f"DATABASE_URL must start with postgresql://, not {url.drivername}://")
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def _as_query(found: re.Match[str]) -> str:
    """Several hosts in the place of one, as libpq takes them, put where the library wants them."""
    before, hosts, path, query = found.groups(default="")
    parts = [host.rpartition(":") if _PORT.search(host) else (host, "", "5432") for host in hosts.split(",")]
    names, ports = ",".join(name.strip("[]") for name, _, _ in parts), ",".join(port for _, _, port in parts)
    return f"{before}{path}{query}{'&' if query else '?'}host={quote(names)}&port={quote(ports)}"


def make_engine(
    url: str,
    *,
    name: str,
    pool_size: int = 5,
    pgbouncer: bool = False,
    ping_after: float = PING_AFTER,
    idle: float = IDLE_TIMEOUT,
    read_timeout: Callable[[], float] = lambda: READ_TIMEOUT,
) -> Engine:
    """An engine for `url` (postgresql+psycopg://). No connection is opened yet.

    `name` shows in pg_stat_activity. A session that lay unused for `quiet` seconds is asked for a sign of life before
    it is used; where work goes on, the work itself tells. Behind pgbouncer in transaction mode nothing is kept in a
    session: no prepared statements and no start-up options.

    A transaction in which nothing is said for `idle` seconds ends, five at the least: whoever began it is frozen, and
    nobody else can take the rows that it holds. A session that gives no answer for `patience()` seconds is given up
    as lost.
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
        ours = [f"-c {name}={value}" for name, value in limits.items()]
        arguments["options"] = " ".join([*ours, _AS_WE_EXPECT, _LOOK_FOR_US])
    engine = create_engine(
        url,
        connect_args=arguments,
        pool_size=pool_size,
        max_overflow=2,
        pool_timeout=CONNECT_TIMEOUT,
        hide_parameters=True,
        isolation_level="READ COMMITTED",  # For transactions behind a pooler, too.
        json_deserializer=_json,
    )
    event.listen(engine, "do_connect", partial(open_connection, within=CONNECT_TIMEOUT, read_timeout=read_timeout))
    event.listen(engine, "handle_error", _disconnect_from_read_only)
    event.listen(engine, "checkout", partial(_ping_if_idle, quiet=ping_after))
    if pgbouncer:
        event.listen(engine, "begin", partial(_limit, limits=limits))
    else:
        event.listen(engine, "checkout", _discard_old_plans)
    return engine


def read_timeout_until(stopping: Event) -> Callable[[], float]:
    """How long an answer may take: once `stopping` is set, less than people wait before they kill a process."""
    return lambda: SHUTDOWN_READ_TIMEOUT if stopping.is_set() else READ_TIMEOUT


def autocommit(engine: Engine) -> Connection:
    """A connection for statements that are a transaction each: one way to the server and back instead of three."""
    return engine.connect().execution_options(isolation_level="AUTOCOMMIT")


def limit_transaction(connection: Connection, *, seconds: float) -> None:
    """The server ends what takes longer in this transaction: whoever asks again and again leaves nothing running."""
    limit = f"{seconds * 1000:.0f}ms"
    execute(connection, "session/limits", statement_timeout=limit, idle_in_transaction_session_timeout=limit)


def _json(text: str | bytes) -> Any:
    """What a column of JSON says; an empty object where Python cannot read what Postgres could store, as a number of
    five thousand digits, so that one such row does not break the statement that brings others."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def _ping_if_idle(
    raw: "psycopg.Connection[object]", entry: ConnectionPoolEntry, checked_out: PoolProxiedConnection, *, quiet: float
) -> None:
    now = time.monotonic()
    unused, entry.info["used"] = now - entry.info.get("used", now), now
    if unused > quiet:
        _execute_raw(raw, "session/ping")


def _discard_old_plans(
    raw: "psycopg.Connection[object]", entry: ConnectionPoolEntry, checked_out: PoolProxiedConnection
) -> None:
    """A session that is used much makes its plans anew now and then; one that idles costs nothing more."""
    uses = entry.info["uses"] = entry.info.get("uses", 0) + 1
    if uses % PLAN_MAX_USES == 0:
        _execute_raw(raw, "session/discard_plans")


def _disconnect_from_read_only(context: ExceptionContext) -> None:
    """Sessions with a server that takes no writes are given up, so that the address is asked who does."""
    if getattr(context.original_exception, "sqlstate", None) == READ_ONLY:
        context.is_disconnect = True


def _limit(connection: Connection, *, limits: dict[str, str]) -> None:
    """Behind a pooler the session is nobody's own, so each transaction is given its limits."""
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        connection.execute(statement("session/limits"), limits)


def _execute_raw(raw: "psycopg.Connection[object]", name: str) -> None:
    """One statement outside any transaction. A session that does not live is replaced by the pool, and where it hangs,
    all of them are. Half of the time that is left is for the next one."""
    try:
        with deadline(min(CONNECT_TIMEOUT, remaining(2 * CONNECT_TIMEOUT) / 2)):
            raw.autocommit = True
            raw.execute(statement(name).text.encode(), prepare=False)
            raw.autocommit = False
    except QueryTimeout as hangs:
        raise InvalidatePoolError from hangs
    except psycopg.Error as lost:
        raise DisconnectionError from lost
