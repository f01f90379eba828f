"""docs/schema.md: the tables and what refers to what, as pictures. `make schema` runs this; a test fails where the
models, which are what the schema is, have changed since."""

import sys
from pathlib import Path

from sqlalchemy import Column, Table
from sqlalchemy.dialects import postgresql

from snoozer.db import models
from snoozer.db.models import Base, metadata

FILE = Path(__file__).resolve().parents[2] / "docs" / "schema.md"
_HEAD = """# The schema in pictures

Each table with its columns, by what they are about; [schema.sql](schema.sql) has the constraints, triggers and indexes.
A solid line is a foreign key. A dotted one is a reference by id without a key, so that a row stays when what it names
is gone. A snooze belongs to a person by `user_email`, which need not be an account's. `make schema` makes this page
from the models; a test fails when they differ.
"""
_SHORT = {
    "timestamp with time zone": "timestamptz",
    "timestamp without time zone": "timestamp",
    "double precision": "float8",
}
# Columns that name a row by its id, in tables that keep no foreign key.
_NAMED = {"snooze_id": "email_snoozes", "account_id": "accounts", "device_id": "push_devices"}


def written() -> str:
    """The text of the page."""
    by_module: dict[str, list[Table]] = {}
    classes = {mapper.local_table: mapper.class_.__module__ for mapper in Base.registry.mappers}
    for table in metadata.sorted_tables:
        by_module.setdefault(classes.get(table) or _defined_in(table), []).append(table)
    pictures = [_picture(module, tables) for module, tables in sorted(by_module.items())]
    return "\n".join([_HEAD, *pictures])


def _defined_in(table: Table) -> str:
    """The module of a table that has no class."""
    modules = [name for name in sys.modules if name.startswith(f"{models.__name__}.")]
    [found] = [name for name in modules if table in vars(sys.modules[name]).values()]
    return found


def _picture(module: str, tables: list[Table]) -> str:
    name = module.rpartition(".")[2].replace("_", " ").capitalize()
    title = (sys.modules[module].__doc__ or name).strip().split("\n\n")[0].replace("\n", " ").rstrip(".")
    own = sorted(tables, key=lambda table: table.name)
    lines = [f"## {title}", "", "```mermaid", "erDiagram"]
    for table in own:
        lines += [f"    {table.name} {{", *(f"        {_column(column)}" for column in table.columns), "    }"]
    lines += sorted({line for table in own for line in _references(table)})
    return "\n".join([*lines, "```", ""])


def _column(column: Column[object]) -> str:
    kind = column.type.compile(dialect=postgresql.dialect()).lower()  # type: ignore[no-untyped-call]
    kind = _SHORT.get(kind, kind).replace(" ", "_")
    keys = [name for name, holds in (("PK", column.primary_key), ("FK", column.foreign_keys)) if holds]
    return f"{kind} {column.name} {', '.join(keys)}".rstrip()


def _references(table: Table) -> list[str]:
    lines = []
    for column in table.columns:
        for key in column.foreign_keys:
            lines.append(f"    {key.column.table.name} ||--o{{ {table.name} : {column.name}")
        named = _NAMED.get(column.name)
        if named is not None and not column.foreign_keys and named != table.name:
            lines.append(f"    {named} |o..o{{ {table.name} : {column.name}")
    return lines


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
