"""The doctor's findings about the database server, by the support queries: connections, dead rows and old snapshots."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from snoozer.cli.clock import CONNECTIONS as CLOCK_CONNECTIONS
from snoozer.cli.finding import Finding
from snoozer.cli.mailbox import DATABASE_CONNECTIONS as MAILBOX_CONNECTIONS
from snoozer.cli.worker import CONNECTIONS as WORKER_CONNECTIONS
from snoozer.db import support
from snoozer.db.engine import MAX_OVERFLOW, POOL_SIZE
from snoozer.notify.send_loop import CONNECTIONS as SENDING_CONNECTIONS
from snoozer.settings import Settings

# The largest number of connections per process, by application. A worker has several engines.
PER_PROCESS = {
    "snoozer-web": POOL_SIZE + MAX_OVERFLOW,
    "snoozer-inbound": POOL_SIZE + MAX_OVERFLOW,
    "snoozer-clock": CLOCK_CONNECTIONS + MAX_OVERFLOW,
    "snoozer-mailbox": MAILBOX_CONNECTIONS + MAX_OVERFLOW,
}
PER_WORKER = WORKER_CONNECTIONS + 2 * SENDING_CONNECTIONS + 3 * MAX_OVERFLOW
OF_WORKERS = ("snoozer-worker", "snoozer-push", "snoozer-webhook")
# A share of the connections that the server takes.
NEARLY_ALL = 0.9

# Autovacuum starts at its threshold; at this multiple of it, it does not keep up. Small tables are ignored.
TIMES_BEHIND = 3
MANY_DEAD = 10_000
# The server stops at two thousand million.
MOST_UNFROZEN = 1_500_000_000

LONG_HELD = timedelta(minutes=10)
TOO_LONG_HELD = timedelta(hours=1)
MAX_SHOWN = 5


def server_findings(connection: Connection, settings: Settings, *, workers: int) -> Iterator[Finding]:
    """The findings for a server with this many live workers. Raises DBAPIError."""
    yield _connections(support.read(connection, "connections").all(), workers=workers, pooled=settings.pgbouncer)
    yield _dead_rows(support.read(connection, "bloat").all())
    yield _snapshots(support.read(connection, "snapshots").all())


def _connections(rows: Sequence[Any], *, workers: int, pooled: bool) -> Finding:
    used, takes = sum(row.sessions for row in rows), rows[0].server_takes
    by_name = {row.application: row.sessions for row in rows}
    do = "Raise max_connections, run fewer processes, or put pgbouncer in front (SNOOZER_PGBOUNCER=1)."
    if used >= NEARLY_ALL * takes:
        text = f"{used} of {takes} connections are in use: the next process finds none."
        return Finding("connections", "wrong", text, f"{do} `snoozer support connections` says whose they are.")
    wanted = used
    if not pooled:
        wanted += workers * PER_WORKER - sum(by_name.get(name, 0) for name in OF_WORKERS)
        # Processes that are not registered are visible by their sessions.
        wanted += sum(-by_name.get(name, 0) % most for name, most in PER_PROCESS.items())
    if wanted > takes:
        text = f"The processes that run may open {wanted} connections, and the server takes {takes}; {used} are in use."
        return Finding("connections", "advice", text, do)
    return Finding("connections", "right", f"{used} of {takes} in use; the processes that run may open {wanted}.")


def _dead_rows(rows: Sequence[Any]) -> Finding:
    check = "autovacuum"
    off = [row.table_name for row in rows if not row.autovacuum]
    if off:
        text = f"It is off for {', '.join(off)}: dead rows stay, and claims and pages become slow."
        return Finding(check, "wrong", text, "Set autovacuum on, and no autovacuum_enabled=off for these tables.")
    old = [row for row in rows if row.transactions_unfrozen > MOST_UNFROZEN]
    if old:
        name, age = old[0].table_name, old[0].transactions_unfrozen
        text = f"{name} was not frozen for {age:,} transactions; the server stops before two thousand million."
        return Finding(check, "wrong", text, f"VACUUM (FREEZE) {name}; the check of snapshots says who holds one.")
    behind = [row for row in rows if row.dead_rows > max(MANY_DEAD, TIMES_BEHIND * row.vacuumed_at)]
    if behind:
        tables = ", ".join(f"{row.table_name} ({row.dead_rows:,})" for row in behind[:MAX_SHOWN])
        text = f"It is behind: dead rows in {tables}. Claims and pages become slow."
        do = f"VACUUM (ANALYZE) {behind[0].table_name}; see the check of snapshots, and `snoozer support bloat`."
        return Finding(check, "wrong", text, do)
    most = max((row.dead_rows for row in rows), default=0)
    return Finding(check, "right", f"It keeps up; no table has more than {most:,} dead rows.")


def _snapshots(rows: Sequence[Any]) -> Finding:
    check = "snapshots"
    held = [row for row in rows if row.held is not None and row.held > LONG_HELD]
    unused = [row for row in rows if row.kind == "replication slot" and row.state == "not used"]
    shown = [f"{row.kind} {row.name} ({row.application}, {row.state}) for {_minutes(row.held)}" for row in held]
    shown += [f"replication slot {row.name}, which nothing uses" for row in unused]
    if not shown:
        return Finding(check, "right", f"No snapshot is held for more than {_minutes(LONG_HELD)}.")
    text = f"Held: {'; '.join(shown[:MAX_SHOWN])}. No vacuum removes what died since; an unused slot keeps all WAL."
    do = "\n".join(f"{row.ends_with};" for row in [*held, *unused][:MAX_SHOWN])
    too_long = [row for row in held if row.held > TOO_LONG_HELD or row.kind == "prepared transaction"]
    return Finding(check, "wrong" if too_long or unused else "advice", text, do)


def _minutes(span: timedelta) -> str:
    return f"{span.total_seconds() / 60:,.0f} min"
