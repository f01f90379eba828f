"""Verdicts on final dots, and the rows of a batch that the ledger refuses, found so that they stop no others."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from uuid import UUID

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer.db.bisection import bisect
from snoozer.db.errors import is_row_error, sqlstate
from snoozer.queue.reminder import Send

log = logging.getLogger(__name__)

INDEX_ROW_TOO_LONG = "54000"


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A mail and the sha256 of its bytes; with the version of its row if that is yet to be claimed."""

    send: Send
    digest: str
    version: str | None = None


@dataclass(frozen=True, kw_only=True)
class Permission:
    """The dot may be sent, from `due` on, by the monotonic clock: then the time the mail is late from has come by the
    database's clock, which was read in the `read_in` seconds before. The claim is newer than the boot time `since`."""

    due: float
    read_in: float
    since: float


class Denial(Enum):
    """Why a dot must not be sent: not now (the row is locked, has changed or has an obstacle), or the claim is
    lost."""

    NOT_NOW = auto()
    LOST = auto()


@dataclass(frozen=True, kw_only=True)
class RefusedRow:
    """Why the ledger refuses a row. `permanent` if the row is surely at fault, so that it becomes a case; otherwise it
    is tried again, with an attempt spent or not."""

    error: str
    attempts_used: int
    permanent: bool


Permissions = Mapping[UUID, Permission]
Verdict = Permission | Denial | RefusedRow


def authorise_individually(
    engine: Engine, *, dots: Sequence[Dot], authorise: Callable[[Connection, Sequence[Dot]], Permissions]
) -> tuple[Permissions, dict[int, RefusedRow]]:
    """Authorise all of these but the rows that fail, in one transaction; returns the permissions by claim, and the rows
    that were refused, by snooze."""
    with engine.begin() as connection:
        parts, errors = bisect(connection, dots, lambda part: authorise(connection, part), is_row_error=is_row_error)
    failed = {dot.send.snooze_id: error for dot, error in errors}
    permissions = {token: permission for part in parts for token, permission in part.items()}
    return permissions, _refused_rows(failed, others=len(dots) - len(failed))


def _refused_rows(failed: Mapping[int, DBAPIError], *, others: int) -> dict[int, RefusedRow]:
    """The rows that were refused with these errors, by snooze, while `others` rows were not.

    If others were accepted, or a text is too long for the index, the row is surely at fault. If several rows were
    refused and no other accepted, the ledger itself may be broken, and no attempt is spent.
    """
    for id, error in failed.items():
        log.warning("the ledger cannot take snooze %d (SQLSTATE %s)", id, sqlstate(error))
    if len(failed) > 1 and not others:
        log.error("the ledger took none of %d rows; see whether its table is as it should be", len(failed))
    attempts_used = 1 if others or len(failed) == 1 else 0
    return {
        id: RefusedRow(
            error=_error_message(error),
            attempts_used=attempts_used,
            permanent=others > 0 or sqlstate(error) == INDEX_ROW_TOO_LONG,
        )
        for id, error in failed.items()
    }


def _error_message(error: DBAPIError) -> str:
    """The sentence about a refused row and what to do, without the row's values."""
    if sqlstate(error) == INDEX_ROW_TOO_LONG:
        what = "user_email and message_id are too long together for the ledger's index (254 and 998 octets always fit)"
    else:
        what = f"the ledger refuses its values (SQLSTATE {sqlstate(error)})"
    return f"It cannot be sent: {what}. Correct the row and reactivate it, or dismiss it"
