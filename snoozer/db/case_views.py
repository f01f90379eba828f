"""Filters of the list of cases that operators keep; one function per statement in `sql/operators/case_views`, of the
same name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from sqlalchemy import Connection

from snoozer.db.queries.case_filter import Filter
from snoozer.db.statements import execute, rows_as

MAX_VIEWS = 50


@dataclass(frozen=True, kw_only=True)
class CaseView:
    """A filter by its name."""

    id: int
    name: str
    filter: Filter

    @classmethod
    def of(cls, *, id: int, name: str, filter: Mapping[str, Any]) -> Self:
        """From a row, by the names of its columns."""
        return cls(id=id, name=name, filter=Filter.from_args(filter))


def save(connection: Connection, *, account_id: int, name: str, filter: Filter) -> int | None:
    """Save a filter under this name, replacing an older one; None if the account has `MAX_VIEWS` others."""
    values = {
        "account_id": account_id,
        "view_name": name,
        "filter": json.dumps(filter.as_args()),
        "max_views": MAX_VIEWS,
    }
    return execute(connection, "case_views/save", **values).scalar_one_or_none()


def delete(connection: Connection, *, account_id: int, id: int) -> str | None:
    """Delete one of the account's filters; returns its name, or None if the account has no such filter."""
    return execute(connection, "case_views/delete", account_id=account_id, id=id).scalar_one_or_none()


def of_account(connection: Connection, *, account_id: int) -> list[CaseView]:
    """The account's filters, by their names."""
    return rows_as(execute(connection, "case_views/of_account", account_id=account_id), CaseView.of)
