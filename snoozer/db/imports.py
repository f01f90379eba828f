"""Imports, the parsed rows of a person's file: one function per statement in `sql/people/imports.sql`, of the same
name."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as, rows_as


@dataclass(frozen=True, kw_only=True)
class PendingImport:
    """An import that is locked; `presets` are [label, phrase] pairs."""

    id: int
    presets: list[list[str]]


@dataclass(frozen=True, kw_only=True)
class WaitingRow:
    """A row to be enqueued, and whether its message is kept here."""

    line: int
    terms: dict[str, Any]
    is_kept: bool


def begin(connection: Connection, *, account_id: int, presets: Sequence[Sequence[str]]) -> int:
    values = {"account_id": account_id, "presets": json.dumps(presets)}
    return int(execute(connection, "imports/begin", **values).scalar_one())


def add_rows(connection: Connection, *, import_id: int, rows: Sequence[dict[str, Any]]) -> None:
    execute(connection, "imports/add_rows", import_id=import_id, rows=json.dumps(rows))


def judge(connection: Connection, *, import_id: int, user_email: str) -> None:
    execute(connection, "imports/judge", import_id=import_id, user_email=user_email)


def lock(connection: Connection, *, account_id: int) -> PendingImport | None:
    return row_as(execute(connection, "imports/lock", account_id=account_id).first(), PendingImport)


def months(connection: Connection, *, import_id: int) -> list[date]:
    return list(execute(connection, "imports/months", import_id=import_id).scalars())


def waiting(
    connection: Connection, *, import_id: int, user_email: str, with_past: bool, after: int, batch_size: int
) -> list[WaitingRow]:
    """Returns a page of rows, which begins after a line."""
    values = {"import_id": import_id, "user_email": user_email, "with_past": with_past}
    rows = execute(connection, "imports/waiting", after=after, batch_size=batch_size, **values)
    return rows_as(rows, WaitingRow)


def save_finished(connection: Connection, *, import_id: int, user_email: str, with_past: bool) -> list[int]:
    """Returns the ids of the archived snoozes."""
    values = {"import_id": import_id, "user_email": user_email, "with_past": with_past}
    return list(execute(connection, "imports/save_finished", **values).scalars())


def save_sent(connection: Connection, *, import_id: int, ids: Sequence[int]) -> None:
    execute(connection, "imports/save_sent", import_id=import_id, ids=list(ids))


def discard(connection: Connection, *, account_id: int) -> bool:
    return execute(connection, "imports/discard", account_id=account_id).first() is not None


def prune(connection: Connection, *, batch_size: int) -> int:
    """Returns how many were forgotten."""
    return len(execute(connection, "imports/prune", batch_size=batch_size).all())
