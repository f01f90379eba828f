"""What a statement of the product reads, told by the server that carries it out once more."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, event

_Said = list[tuple[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Of all statements together: rows read in tables, entries read in indexes alone, tables read from end to end."""

    rows: int
    entries: int
    whole_tables: frozenset[str]


def reading(engine: Engine, act: Callable[[Connection], object]) -> Reading:
    """What `act` reads."""
    with engine.connect() as connection:
        with _listening(engine) as said:
            act(connection)
        nodes = [node for statement in said for node in _nodes(connection, *statement)]
    scans = [node for node in nodes if node["Node Type"].endswith(" Scan") and "Relation Name" in node]
    apart = [node for node in scans if node["Node Type"] == "Index Only Scan"]
    return Reading(
        rows=round(sum(_looked_at(node) for node in scans if node not in apart)),
        entries=round(sum(map(_looked_at, apart))),
        whole_tables=frozenset(node["Relation Name"] for node in scans if node["Node Type"] == "Seq Scan"),
    )


def _looked_at(node: dict[str, Any]) -> float:
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return float((node["Actual Rows"] + removed) * node["Actual Loops"])


def _nodes(connection: Connection, statement: str, values: Any) -> Iterator[dict[str, Any]]:
    told = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values).scalar_one()
    waiting = [told[0]["Plan"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", [])
        yield node


@contextmanager
def _listening(engine: Engine) -> Iterator[_Said]:
    said: _Said = []

    def hear(connection: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool) -> None:
        said.append((statement, values))

    event.listen(engine, "before_cursor_execute", hear)
    try:
        yield said
    finally:
        event.remove(engine, "before_cursor_execute", hear)
