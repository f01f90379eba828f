"""The audit log (`audit_log`): who acted on what, chained by hash; one function per statement in `sql/operators/audit`,
of the same name. It holds ids, states and times, and no addresses, subjects or tokens.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as

BATCH_SIZE = 500
CHECK_SIZE = 20_000

_ADDRESS = re.compile(r"[^\s<>(),;]+@[^\s<>(),;]+")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The change that one act made to a snooze (by its id) or a `target` such as "account:7": the state before and
    after."""

    snooze_id: int | None = None
    target: str | None = None
    before: Mapping[str, object] | None = None
    after: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class Head:
    """The newest entry and its hash, which covers all entries before it."""

    id: int
    hash: bytes


@dataclass(frozen=True, kw_only=True)
class Links:
    """The number of entries checked up to `last_id`, and the first entry that does not fit; None if all do."""

    checked: int
    last_id: int | None
    broken_at: int | None


def append(
    connection: Connection,
    *,
    actor: str,
    act: str,
    reason: str | None = None,
    request_id: str | None = None,
    operation_id: int | None = None,
    entries: Sequence[Entry],
) -> None:
    """Append one row for each entry, in the transaction of the change that it records; no row without entries.

    `actor` is "operator:<account id>", "user:<account id>", "command", "clock" or "provider" (of sign-ins). From the
    first row to the end of the transaction no other transaction appends: call it last in a transaction, and never
    before waiting for a lock on other rows.
    """
    values = {"actor": actor, "act": act, "request_id": request_id, "operation_id": operation_id}
    values["reason"] = None if reason is None else _ADDRESS.sub("…@…", reason)
    for start in range(0, len(entries), BATCH_SIZE):
        batch = entries[start : start + BATCH_SIZE]
        execute(
            connection,
            "audit/append",
            snooze_ids=[entry.snooze_id for entry in batch],
            targets=[entry.target for entry in batch],
            befores=[_json(entry.before) for entry in batch],
            afters=[_json(entry.after) for entry in batch],
            **values,
        )


def head(connection: Connection) -> Head | None:
    """The newest entry; None if the log is empty."""
    return row_as(execute(connection, "audit/head").first(), Head)


def hash_of(connection: Connection, *, id: int) -> bytes | None:
    """The hash of an entry; None if the entry does not exist."""
    return execute(connection, "audit/hash_of", id=id).scalar_one_or_none()


def check_links(connection: Connection, *, after_id: int, batch_size: int = CHECK_SIZE) -> Links:
    """Compare up to `batch_size` entries behind `after_id` with their hashes and with the entries before them."""
    return Links(**execute(connection, "audit/check_links", after_id=after_id, batch_size=batch_size).one()._mapping)


def _json(state: Mapping[str, object] | None) -> str | None:
    return None if state is None else json.dumps(state, default=_plain)


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, date | datetime) else str(value)
