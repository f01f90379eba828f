"""`snoozer support NAME`: a query of the runbook, the metrics and the triage page, printed as a table."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import click
from rich.table import Table
from rich.text import Text
from sqlalchemy import CursorResult

from snoozer import settings
from snoozer.cli.console import refuse, show
from snoozer.cli.database_connection import open_engine
from snoozer.db import support

MANY_COLUMNS = 11
# Queries that need an argument, and its name.
_ARGUMENTS = {"person": "EMAIL"}


@click.command(name="support")
@click.argument("name", required=False)
@click.argument("argument", required=False)
def command(name: str | None, argument: str | None) -> None:
    """Print the support query NAME as a table; without NAME, list them. `person` is of one person: person EMAIL."""
    known = support.names()
    if name is None:
        show(_list(known))
        return
    if name not in known:
        refuse(f"There is no support query {name!r}; there are {', '.join(known)}.")
    if name in _ARGUMENTS and not argument:
        refuse(f"Say of whom: snoozer support {name} {_ARGUMENTS[name]}")
    if name not in _ARGUMENTS and argument is not None:
        refuse(f"The query {name!r} takes no argument.")
    config = settings.load()
    dead_after = timedelta(seconds=config.worker_dead)
    engine = open_engine(config, name="support")
    try:
        with engine.connect() as connection:
            show(_table(name, support.read(connection, name, dead_after=dead_after, person=argument)))
    finally:
        engine.dispose()


def _list(known: list[str]) -> Table:
    table = Table("query", "what it answers", title="Support queries: snoozer support NAME")
    for name in known:
        table.add_row(Text(f"{name} {_ARGUMENTS.get(name, '')}".rstrip()), Text(support.promise(name)))
    return table


def _table(name: str, result: CursorResult[tuple[object, ...]]) -> Table:
    """One row of many figures is shown with one figure per line."""
    columns, rows = [column.replace("_", " ") for column in result.keys()], result.all()  # noqa: SIM118 - keys of a row
    if len(rows) == 1 and len(columns) > MANY_COLUMNS:
        return _figures(name, zip(columns, rows[0], strict=True))
    table = Table(title=name)
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_text(value)) for value in row))
    if not table.rows:
        table.caption = "No rows."
    return table


def _figures(name: str, figures: Iterable[tuple[str, object]]) -> Table:
    table = Table("figure", "value", title=name)
    for figure, value in figures:
        table.add_row(Text(figure), Text(_text(value)))
    return table


def _text(value: object) -> str:
    """Format a value; times are in UTC."""
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case datetime():
            return value.astimezone(UTC).isoformat(sep=" ", timespec="milliseconds")
        case timedelta():
            return f"{value.total_seconds():.3f} s"
        case float() | Decimal():
            return f"{value:.3f}"
        case _:
            return "".join(character if character.isprintable() else "·" for character in str(value))
