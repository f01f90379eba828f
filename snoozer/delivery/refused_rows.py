"""Rows that the ledger refuses: finding them in a batch, and deciding what happens to each."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from snoozer.db.bisection import bisect
from snoozer.db.errors import is_row_error, sqlstate
from snoozer.queue.reminder import Claim, Send

log = logging.getLogger(__name__)

INDEX_ROW_TOO_LONG = "54000"


@dataclass(frozen=True, kw_only=True)
class ReserveError:
    """Why the ledger refuses a row. `permanent` if the row is surely at fault, so that it becomes a case; otherwise it
    is tried again, with an attempt spent or not."""

    error: str
    attempts_used: int
    permanent: bool


def reserve_individually(
    connection: Connection, *, claims: Sequence[Claim], reserve: Callable[[Sequence[Claim]], dict[int, Send]]
) -> tuple[dict[int, Send], dict[int, DBAPIError]]:
    """Reserve all of these but the rows that fail; returns the sends, and the errors, by snooze id."""
    sends, failed = bisect(connection, claims, reserve, is_row_error=is_row_error)
    return {id: send for part in sends for id, send in part.items()}, {claim.id: error for claim, error in failed}


def reserve_errors(failed: Mapping[int, DBAPIError], *, others: int) -> dict[int, ReserveError]:
    """The errors of rows that were refused, while `others` rows were reserved.

    If others were reserved, or a text is too long for the index, the row is surely at fault. If several rows were
    refused and none reserved, the ledger itself may be broken, and no attempt is spent.
    """
    for id, error in failed.items():
        log.warning("the ledger cannot take snooze %d (SQLSTATE %s)", id, sqlstate(error))
    if len(failed) > 1 and not others:
        log.error("the ledger took none of %d rows; see whether its table is as it should be", len(failed))
    attempts_used = 1 if others or len(failed) == 1 else 0
    return {
        id: ReserveError(
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
