"""What a statement of the product reads, by EXPLAIN ANALYZE of the same statement. What it changes is undone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, event

_Executed = list[tuple[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Of all statements together: table rows read, entries of index-only scans, tables read by a sequential scan, and
    pages of tables and indexes."""

    pages: int
    rows: int
    entries: int
    whole_tables: frozenset[str]


def reading(engine: Engine, act: Callable[[Connection], object]) -> Reading:
    """What `act` reads."""
    with engine.connect() as connection:
        with _recorded(engine) as executed:
            act(connection)
        plans = [_plan(connection, *statement) for statement in executed]
        connection.rollback()
    nodes = [node for plan in plans for node in _nodes(plan)]
    scans = [node for node in nodes if node["Node Type"].endswith(" Scan") and "Relation Name" in node]
    index_only = [node for node in scans if node["Node Type"] == "Index Only Scan"]
    return Reading(
        pages=sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans),
        rows=round(sum(_rows_read(node) for node in scans if node not in index_only)),
        entries=round(sum(map(_rows_read, index_only))),
        whole_tables=frozenset(node["Relation Name"] for node in scans if node["Node Type"] == "Seq Scan"),
    )


def _rows_read(node: dict[str, Any]) -> float:
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return float((node["Actual Rows"] + removed) * node["Actual Loops"])


def _plan(connection: Connection, statement: str, values: Any) -> dict[str, Any]:
    explained = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", values)
    plan: dict[str, Any] = explained.scalar_one()[0]["Plan"]
    return plan


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    pending = [plan]
    while pending:
        node = pending.pop()
        pending += node.get("Plans", [])
        yield node


@contextmanager
def _recorded(engine: Engine) -> Iterator[_Executed]:
    executed: _Executed = []

    def record(connection: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool) -> None:
        executed.append((statement, values))

    event.listen(engine, "before_cursor_execute", record)
    try:
        yield executed
    finally:
        event.remove(engine, "before_cursor_execute", record)
