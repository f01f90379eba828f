"""What grows while a worker works: its memory, and the queue's tables and indexes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

TABLES = ("email_snoozes", "reminder_sends", "snooze_events", "workers", "circuit_breakers")
SIZES = """
SELECT relation.relname AS name, pg_relation_size(relation.oid) AS bytes
FROM pg_class AS relation
LEFT JOIN pg_index AS index ON index.indexrelid = relation.oid
WHERE COALESCE(index.indrelid, relation.oid) = ANY(%s::regclass[])
ORDER BY 2 DESC, 1
"""
# The smallest that is looked at: below, a page more or less is a multiple.
WORTH_MENTION = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Relation:
    """A table (without its indexes) or an index: its size after the soak, and what a rewrite of it needs."""

    name: str
    bytes: int
    rewritten: int

    @property
    def bloat(self) -> float:
        """How many times larger it is than it had to be."""
        return round(self.bytes / max(self.rewritten, WORTH_MENTION), 2)


def memory(pid: int) -> int:
    """The bytes of memory that are this process's and no file's."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise ValueError(f"process {pid} has no memory")


def relations(database_url: str) -> list[Relation]:
    """Tables and indexes of the queue, the largest first. They are rewritten for it."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        before = _sizes(connection)
        for table in TABLES:
            connection.execute(f"VACUUM (FULL, ANALYZE) {table}")
        after = _sizes(connection)
    return [Relation(name=name, bytes=before[name], rewritten=after[name]) for name in before]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """How much the second figure grows with the first one (least squares)."""
    mean_x, mean_y = sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
    distances = [(x - mean_x, y - mean_y) for x, y in points]
    return sum(x * y for x, y in distances) / sum(x * x for x, _ in distances)


def _sizes(connection: "psycopg.Connection[tuple[str, int]]") -> dict[str, int]:
    return dict(connection.execute(SIZES, [list(TABLES)]).fetchall())
