"""Claims whose sends the ledger did not reserve, and the resolution of each: operators have paused it, a rest of its
owner defers it, it is in a digest, it was sent already, its message is back, or it may have been sent and waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from sqlalchemy import Connection

from snoozer.delivery import deferring, digesting, pausing
from snoozer.delivery.claiming import DeliveryConfig
from snoozer.queue import ledger
from snoozer.queue.ledger import KnownSend
from snoozer.queue.limits import MAX_RESENDS
from snoozer.queue.reminder import NO_ANSWER, RESENT_WITHOUT_ANSWER, Claim, Deferral, DeliveryOutcome, Failure

COPY_IN_FLIGHT = "An earlier copy may be on its way; the snooze is looked at again after the hold"
MOMENT = timedelta(milliseconds=100)


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The resolution of a claim, with the fields of its ending."""

    outcome: DeliveryOutcome
    failure: Failure | None = None
    appends_event: bool = True
    delay: timedelta | None = None
    deferral: Deferral | None = None
    pause_id: int | None = None


def resolve(connection: Connection, claims: Sequence[Claim], *, config: DeliveryConfig) -> dict[int, Resolution]:
    """The resolution of each of these claims, by snooze."""
    paused = pausing.find(connection, held=[(claim.id, claim.claim_token) for claim in claims])
    resolutions = {id: Resolution(outcome=DeliveryOutcome.UNCLAIMED, pause_id=pause) for id, pause in paused.items()}
    claims = [claim for claim in claims if claim.id not in paused]
    deferrals = deferring.find(connection, held=[(claim.id, claim.claim_token) for claim in claims])
    digests = digesting.look_up(
        connection, claims, shaped=deferrals.keys(), domain=config.domain, uncertainty=config.uncertainty
    )
    return resolutions | {
        claim.id: _resolve(connection, claim, deferrals.get(claim.id), digests.get(claim.id), config=config)
        for claim in claims
    }


def uncertain_error(resends: int) -> str:
    """The sentence for an uncertain reminder that was sent again `resends` times."""
    return RESENT_WITHOUT_ANSWER if resends >= MAX_RESENDS else NO_ANSWER


def _resolve(
    connection: Connection,
    claim: Claim,
    deferral: Deferral | None,
    digest: KnownSend | None,
    *,
    config: DeliveryConfig,
) -> Resolution:
    if deferral is not None and deferral.reason is not None:
        return Resolution(outcome=DeliveryOutcome.UNCLAIMED, deferral=deferral)
    known = digest or ledger.lookup(connection, snooze_id=claim.id, uncertainty=config.uncertainty)
    if known is not None and known.state == "sent":
        return Resolution(outcome=DeliveryOutcome.ALREADY_SENT)
    if known is not None and known.state == "returned":
        return Resolution(outcome=DeliveryOutcome.RETURNED)
    is_final = known is not None and (known.resends >= MAX_RESENDS or config.uncertainty.for_operator)
    if known is not None and (known.state == "awaited" or (digest and not (known.state == "uncertain" and is_final))):
        return Resolution(outcome=DeliveryOutcome.UNCLAIMED, delay=known.hold_left)
    if deferral is not None and (known is None or known.state in {"reserved", "failed"}):
        # The claim was deferred when it was made: the rest is over, or was not known.
        return Resolution(outcome=DeliveryOutcome.UNCLAIMED, delay=MOMENT)
    fail = partial(Failure, id=claim.id, claim_token=claim.claim_token, attempts_used=0)
    if known is not None and known.state == "uncertain" and is_final:
        failure = fail(error=uncertain_error(known.resends), delay=config.first_delay, permanent=True)
        return Resolution(outcome=DeliveryOutcome.RELEASED, failure=failure)
    wait = known.hold_left if known is not None and known.hold_left is not None else config.first_delay
    failure = fail(error=COPY_IN_FLIGHT, delay=wait)
    return Resolution(outcome=DeliveryOutcome.RELEASED, failure=failure, appends_event=False)
