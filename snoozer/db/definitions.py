"""The functions, triggers and views of the database, each made from a file in `sql/functions` or `sql/views`.

`snoozer migrate` makes a definition again if its file changed, or if the database has a different one. A trigger stands
in the file of its function, or of its view.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter

from sqlalchemy import Connection

from snoozer.db.statements import execute, names, sources

_COMMENT = re.compile(r"--.*")
_TRIGGER = re.compile(r"^CREATE OR REPLACE TRIGGER (\w+)[^;]*?\bON (\w+)\b", re.MULTILINE)


@cache
def texts() -> dict[str, str]:
    """The text of each file by name, in an order in which each definition comes after the definitions it uses."""
    found = {name: sources()[f"{kind}/{name}"].text for kind in ("functions", "views") for name in names(kind)}
    words = {name: set(re.findall(r"\w+", _COMMENT.sub("", text))) for name, text in found.items()}
    needed = {name: (words[name] & found.keys()) - {name} for name in sorted(found)}
    return {name: found[name] for name in TopologicalSorter(needed).static_order()}


def triggers() -> list[tuple[str, str]]:
    """The table and the name of each trigger."""
    return sorted((table, name) for text in texts().values() for name, table in _TRIGGER.findall(text))


def changed(connection: Connection) -> list[str]:
    """The names of the definitions that are missing in the database, or differ from their files."""
    recorded, present = _recorded(connection), _present(connection)
    return [
        name
        for name, text in texts().items()
        if name not in present or recorded.get(name) != (_digest(text), present[name])
    ]


def apply(connection: Connection) -> list[str]:
    """Make the changed definitions in the caller's transaction; returns their names."""
    execute(connection, "definitions/prepare")
    wanted = changed(connection)
    if wanted:
        execute(connection, "definitions/lock")
        create(connection, wanted)
        present = _present(connection)
        execute(
            connection,
            "definitions/record",
            names=wanted,
            sources=[_digest(texts()[name]) for name in wanted],
            present=[present[name] for name in wanted],
        )
    if stale := sorted(_recorded(connection).keys() - texts().keys()):
        execute(connection, "definitions/forget", names=stale)
    return wanted


def create(connection: Connection, names: Iterable[str]) -> None:
    """Make these definitions, in this order, in the caller's transaction."""
    for name in names:
        connection.exec_driver_sql(texts()[name], execution_options={"no_parameters": True})


def _recorded(connection: Connection) -> dict[str, tuple[str, str]]:
    rows = execute(connection, "definitions/list_recorded")
    return {row.name: (row.source, row.present) for row in rows}


def _present(connection: Connection) -> dict[str, str]:
    rows = execute(connection, "definitions/present", names=list(texts()))
    return {row.name: row.digest for row in rows}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
