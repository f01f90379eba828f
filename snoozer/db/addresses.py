"""A person's addresses: one function per statement in `sql/people/addresses`, of the same name."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from snoozer.db.statements import execute, rows_as


@dataclass(frozen=True, kw_only=True)
class Address:
    """A verified address; `is_main` if it is that of the account. Mail for the person goes to it if it `gets_mail`."""

    email: str
    is_main: bool
    gets_mail: bool
    invalid_since: datetime | None


def add(connection: Connection, *, account_id: int, email: str, most: int) -> bool:
    return execute(connection, "addresses/add", account_id=account_id, email=email, most=most).first() is not None


def choose(connection: Connection, *, account_id: int, email: str) -> None:
    execute(connection, "addresses/choose", account_id=account_id, email=email)


def list_all(connection: Connection, *, account_id: int) -> list[Address]:
    return rows_as(execute(connection, "addresses/list", account_id=account_id), Address)


def remove(connection: Connection, *, account_id: int, email: str) -> bool:
    return execute(connection, "addresses/remove", account_id=account_id, email=email).first() is not None


def request_code(connection: Connection, **values: Any) -> bool:
    return execute(connection, "addresses/request_code", **values).first() is not None
