"""What a worker takes on: due snoozes, claimed, with their sends reserved in the ledger."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Engine

from snoozer.domain.reminder import Claim, Send
from snoozer.postgres import events, ledger, queue

ROUTE = "worker"

# Hears that the delivery of a message passes a step; tests let it kill the process there.
Passage = Callable[[str, str], None]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a worker is held to. `deadline` is for one delivery, in seconds; `domain` ends the Message-IDs."""

    worker: str
    domain: str
    lease: timedelta
    hold: timedelta
    hold_for_operator: bool
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


def take(engine: Engine, *, terms: Terms, batch_size: int, suspects: bool, passage: Passage) -> list[Delivery]:
    """Claim due snoozes and reserve their sends, in one transaction."""
    with engine.begin() as connection:
        claims = queue.claim(
            connection, worker=terms.worker, batch_size=batch_size, lease=terms.lease, suspects=suspects
        )
        if not claims:
            return []
        for claim in claims:
            passage("claimed", claim.message_id)
        reserved = ledger.reserve(
            connection,
            worker=terms.worker,
            ids=[claim.id for claim in claims],
            domain=terms.domain,
            hold=terms.hold,
            hold_for_operator=terms.hold_for_operator,
        )
        for entry in reserved:
            if entry.resent:
                events.append(connection, snooze_id=entry.send.snooze_id, kind="resent", actor=terms.actor, route=ROUTE)
    sends = {entry.send.snooze_id: entry.send for entry in reserved}
    for claim in claims:
        passage("reserved", claim.message_id)
    return [Delivery(claim=claim, send=sends.get(claim.id)) for claim in claims]
