"""What a worker takes on: due snoozes, claimed, with their sends reserved in the ledger.

A row that the ledger cannot take stops no other: it is taken on without a send, and ends as a failure of its own.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer.db import events, ledger
from snoozer.db.errors import is_conflict, is_row_error, sqlstate
from snoozer.domain.reminder import Claim, Send

log = logging.getLogger(__name__)

ROUTE = "worker"
MAX_CONFLICTS = 3
INDEX_ROW_TOO_LONG = "54000"

# Hears that the delivery of a message passes a step; tests let it kill the process there.
FailpointHook = Callable[[str, str], None]


@dataclass(frozen=True, kw_only=True)
class DeliveryConfig:
    """What a worker is held to. `deadline` is for one delivery, in seconds; `domain` ends the Message-IDs."""

    worker: str
    domain: str
    lease: timedelta
    uncertainty: ledger.UncertainPolicy
    first_delay: timedelta
    deadline: float

    @property
    def actor(self) -> str:
        return f"worker:{self.worker}"


@dataclass(frozen=True, kw_only=True)
class ReserveError:
    """Why the ledger cannot take a row. It is for people where the row is `surely` at fault; else the ledger may be,
    and the row comes again, with an attempt spent or not."""

    error: str
    attempts_used: int
    permanent: bool


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A claim and its entry in the ledger; no entry when the ledger would not have it reserved, or cannot take it."""

    claim: Claim
    send: Send | None
    error: ReserveError | None = None


@dataclass(frozen=True, kw_only=True)
class _Reservations:
    """What the ledger made of claims, by their ids: the sends it has reserved, and what it cannot take."""

    sends: dict[int, Send]
    failed: dict[int, DBAPIError]


def claim_and_reserve(
    engine: Engine, *, config: DeliveryConfig, claim: Callable[[Connection], list[Claim]], failpoint: FailpointHook
) -> list[Delivery]:
    """Claim by `claim` and reserve the sends, in one transaction; where a row may be at fault, once more with care."""
    careful = False
    for _ in range(MAX_CONFLICTS):
        try:
            with engine.begin() as connection:
                claims = claim(connection)
                for held in claims:
                    failpoint("claimed", held.message_id)
                enter = _reserve_individually if careful else _reserve_all
                entered = enter(connection, claims=claims, terms=config)
        except DBAPIError as error:
            if is_row_error(error) and not careful:
                careful = True
                continue
            # Another worker took a row of the same serialization key in this moment, or waited for ours.
            if not is_conflict(error):
                raise
            log.info("two workers claimed at the same place; asking again")
            continue
        for held in claims:
            failpoint("reserved", held.message_id)
        flaws = _reserve_errors(entered.failed, others=len(claims) - len(entered.failed))
        return [Delivery(claim=held, send=entered.sends.get(held.id), error=flaws.get(held.id)) for held in claims]
    return []


def _reserve_all(connection: Connection, *, claims: Sequence[Claim], terms: DeliveryConfig) -> _Reservations:
    """Reserve all of these."""
    return _Reservations(sends=_reserve(connection, claims=claims, terms=terms) if claims else {}, failed={})


def _reserve_individually(connection: Connection, *, claims: Sequence[Claim], terms: DeliveryConfig) -> _Reservations:
    """Reserve all of these, or halve them until what fails is one row.

    What the database could not do is undone up to here; a savepoint that is of no use ends with the transaction.
    """
    before = connection.begin_nested()
    try:
        return _reserve_all(connection, claims=claims, terms=terms)
    except DBAPIError as error:
        if not is_row_error(error):
            raise
        before.rollback()
        if len(claims) == 1:
            return _Reservations(sends={}, failed={claims[0].id: error})
    middle = len(claims) // 2
    first, second = (
        _reserve_individually(connection, claims=half, terms=terms) for half in (claims[:middle], claims[middle:])
    )
    return _Reservations(sends=first.sends | second.sends, failed=first.failed | second.failed)


def _reserve_errors(failed: Mapping[int, DBAPIError], *, others: int) -> dict[int, ReserveError]:
    """What failed, judged beside so many `others` that the ledger took in the same transaction.

    Where it took others, or a text is too long for its index, the row is surely at fault. Where it took none of
    several rows, the ledger itself may be broken, and nothing is held against them.
    """
    for id, error in failed.items():
        log.warning("the ledger cannot take snooze %d (SQLSTATE %s)", id, sqlstate(error))
    if len(failed) > 1 and not others:
        log.error("the ledger took none of %d rows; see whether its table is as it should be", len(failed))
    spent = 1 if others or len(failed) == 1 else 0
    return {
        id: ReserveError(
            error=_error_message(error),
            attempts_used=spent,
            permanent=others > 0 or sqlstate(error) == INDEX_ROW_TOO_LONG,
        )
        for id, error in failed.items()
    }


def _error_message(error: DBAPIError) -> str:
    """What is wrong with a row and what to do, without its values."""
    if sqlstate(error) == INDEX_ROW_TOO_LONG:
        what = "user_email and message_id are too long together for the ledger's index (254 and 998 octets always fit)"
    else:
        what = f"the ledger refuses its values (SQLSTATE {sqlstate(error)})"
    return f"It cannot be sent: {what}. Correct the row and reactivate it, or dismiss it"


def _reserve(connection: Connection, *, claims: Sequence[Claim], terms: DeliveryConfig) -> dict[int, Send]:
    reserved = ledger.reserve(
        connection,
        worker=terms.worker,
        ids=[claim.id for claim in claims],
        domain=terms.domain,
        uncertainty=terms.uncertainty,
    )
    for entry in reserved:
        if entry.resent:
            events.append(connection, snooze_id=entry.send.snooze_id, kind="resent", actor=terms.actor, route=ROUTE)
    return {entry.send.snooze_id: entry.send for entry in reserved}
