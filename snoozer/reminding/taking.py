"""What a worker takes on: due snoozes, claimed, with their sends reserved in the ledger."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError, OperationalError

from snoozer.domain.reminder import Claim, Send
from snoozer.postgres import events, ledger

log = logging.getLogger(__name__)

ROUTE = "worker"
MOST_COLLISIONS = 3
DEADLOCK = "40P01"

# Hears that the delivery of a message passes a step; tests let it kill the process there.
Passage = Callable[[str, str], None]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a worker is held to. `deadline` is for one delivery, in seconds; `domain` ends the Message-IDs."""

    worker: str
    domain: str
    lease: timedelta
    uncertainty: ledger.Uncertainty
    first_delay: timedelta
    deadline: float

    @property
    def actor(self) -> str:
        return f"worker:{self.worker}"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """A claim and its entry in the ledger; no entry when the ledger would not have it reserved."""

    claim: Claim
    send: Send | None


def take(
    engine: Engine, *, terms: Terms, claim: Callable[[Connection], list[Claim]], passage: Passage
) -> list[Delivery]:
    """Claim by `claim` and reserve the sends, in one transaction."""
    for _ in range(MOST_COLLISIONS):
        try:
            with engine.begin() as connection:
                claims = claim(connection)
                for held in claims:
                    passage("claimed", held.message_id)
                sends = _reserve(connection, claims=claims, terms=terms) if claims else {}
        except (IntegrityError, OperationalError) as error:
            # Another worker took a row of the same serialization key in this moment, or waited for ours.
            if not (isinstance(error, IntegrityError) or getattr(error.orig, "sqlstate", None) == DEADLOCK):
                raise
            log.info("two workers claimed at the same place; asking again")
            continue
        for held in claims:
            passage("reserved", held.message_id)
        return [Delivery(claim=held, send=sends.get(held.id)) for held in claims]
    return []


def _reserve(connection: Connection, *, claims: Sequence[Claim], terms: Terms) -> dict[int, Send]:
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
