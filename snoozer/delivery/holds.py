"""Why a claim is given back, or ends, without a mail of its own: operators have paused it, a rest of its owner defers
it, it is in a digest, it was sent already, its message is back, or it may have been sent and waits."""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from snoozer.db.errors import is_row_error, is_timeout, sqlstate
from snoozer.delivery.claiming import ROUTE, DeliveryConfig
from snoozer.queue import digests, events, ledger, queue
from snoozer.queue.ledger import KnownSend
from snoozer.queue.limits import MAX_RESENDS
from snoozer.queue.reminder import NO_ANSWER, RESENT_WITHOUT_ANSWER, Claim, Deferral, DeliveryOutcome, Failure
from snoozer.snoozes import day_shapes

log = logging.getLogger(__name__)

COPY_IN_FLIGHT = "An earlier copy may be on its way; the snooze is looked at again after the hold"
MOMENT = timedelta(milliseconds=100)


@dataclass(frozen=True, kw_only=True)
class Pause:
    """A pause of operators."""

    id: int


# Until when a claim is held: for some time, until the end of a rest, or until the end of a pause.
Hold = timedelta | Deferral | Pause


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """The resolution of a claim, with the fields of its ending."""

    outcome: DeliveryOutcome
    failure: Failure | None = None
    appends_event: bool = True
    hold: Hold | None = None


def resolve(connection: Connection, claims: Sequence[Claim], *, config: DeliveryConfig) -> dict[int, Resolution]:
    """The resolution of each of these claims, whose mails must not be sent now, by snooze."""
    pauses = queue.pauses(connection, held=queue.held(claims))
    paused = {id: Resolution(outcome=DeliveryOutcome.UNCLAIMED, hold=Pause(id=pause)) for id, pause in pauses.items()}
    claims = [claim for claim in claims if claim.id not in paused]
    # Computes rests that are not known.
    day_shapes.refresh_owners(connection, snooze_ids=[claim.id for claim in claims])
    deferrals = {one.id: one for one in queue.deferrals(connection, held=queue.held(claims))}
    digested = _look_up_digests(connection, claims, shaped=deferrals.keys(), config=config)
    return paused | {
        claim.id: _resolve(connection, claim, deferrals.get(claim.id), digested.get(claim.id), config=config)
        for claim in claims
    }


def give_back(connection: Connection, claims: Sequence[tuple[Claim, Hold | None]], *, actor: str) -> set[int]:
    """Give these claims back, each until its hold ends, with an event for rests and pauses; returns the ids of those
    given back."""
    free = [claim for claim, hold in claims if hold is None]
    waiting = [(claim, hold) for claim, hold in claims if isinstance(hold, timedelta)]
    resting = [(claim, hold) for claim, hold in claims if isinstance(hold, Deferral)]
    paused = [(claim, hold) for claim, hold in claims if isinstance(hold, Pause)]
    ids = queue.unclaim(connection, held=queue.held(free)) if free else set()
    if waiting:
        pairs, delays = queue.held(claim for claim, _ in waiting), [delay for _, delay in waiting]
        ids |= queue.defer(connection, held=pairs, delays=delays)
    if resting:
        ids |= _defer(connection, resting, actor=actor)
    if paused:
        ids |= _set_aside(connection, paused, actor=actor)
    return ids


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
        return Resolution(outcome=DeliveryOutcome.UNCLAIMED, hold=deferral)
    known = digest or ledger.lookup(connection, snooze_id=claim.id, uncertainty=config.uncertainty)
    if known is not None and known.state == "sent":
        return Resolution(outcome=DeliveryOutcome.ALREADY_SENT)
    if known is not None and known.state == "returned":
        return Resolution(outcome=DeliveryOutcome.RETURNED)
    is_final = known is not None and (known.resends >= MAX_RESENDS or config.uncertainty.for_operator)
    if known is not None and (known.state == "awaited" or (digest and not (known.state == "uncertain" and is_final))):
        return Resolution(outcome=DeliveryOutcome.UNCLAIMED, hold=known.hold_left)
    if (deferral is not None or claim.is_review) and (known is None or known.state == "failed"):
        # The claim was deferred when it was made: the rest is over, or was not known. Or it was not gathered yet.
        return Resolution(outcome=DeliveryOutcome.UNCLAIMED, hold=MOMENT)
    fail = partial(Failure, id=claim.id, claim_token=claim.claim_token, attempts_used=0)
    if known is not None and known.state == "uncertain" and is_final:
        failure = fail(error=uncertain_error(known.resends), delay=config.first_delay, permanent=True)
        return Resolution(outcome=DeliveryOutcome.RELEASED, failure=failure)
    wait = known.hold_left if known is not None and known.hold_left is not None else config.first_delay
    failure = fail(error=COPY_IN_FLIGHT, delay=wait)
    return Resolution(outcome=DeliveryOutcome.RELEASED, failure=failure, appends_event=False)


def _look_up_digests(
    connection: Connection, claims: Sequence[Claim], *, shaped: Collection[int], config: DeliveryConfig
) -> dict[int, KnownSend]:
    """By snooze, the state of the digests of these claims, after dissolving digests that must not be sent and gathering
    promises not looked at yet. `shaped` are the snoozes of people whose day has a shape."""
    if unclaimed := digests.lock(connection, people=_people(claims)):
        digests.dissolve(connection, ids=unclaimed)
    if people := _people(claim for claim in claims if claim.id in shaped):
        _gather(connection, people=people, domain=config.domain)
    if reviewers := sorted({claim.user_email for claim in claims if claim.is_review}):
        digests.gather_reviews(connection, people=reviewers, domain=config.domain)
    return digests.lookup(connection, ids=[claim.id for claim in claims], uncertainty=config.uncertainty)


def _people(claims: Iterable[Claim]) -> list[str]:
    return sorted({claim.user_email.lower() for claim in claims})


def _gather(connection: Connection, *, people: Sequence[str], domain: str) -> None:
    """Gather; if the ledger refuses a row, send the promises singly, so that it holds no reminder back."""
    try:
        with connection.begin_nested():
            digests.gather(connection, people=people, domain=domain)
    except DBAPIError as error:
        if not (is_row_error(error) or is_timeout(error)):
            raise
        log.warning("no digest was made (SQLSTATE %s): these reminders come singly", sqlstate(error))
        digests.pass_over(connection, people=people)


def _defer(connection: Connection, claims: Sequence[tuple[Claim, Deferral]], *, actor: str) -> set[int]:
    pairs, rests = queue.held(claim for claim, _ in claims), [rest for _, rest in claims]
    ids = queue.rest(connection, held=pairs, deferrals=rests)
    lines: list[tuple[int, dict[str, object]]] = [
        (rest.id, {"why": rest.reason, "until": rest.until.isoformat()})
        for rest in rests
        if rest.until is not None and rest.id in ids
    ]
    events.append_many(connection, kind="deferred", actor=actor, route=ROUTE, lines=lines)
    return ids


def _set_aside(connection: Connection, claims: Sequence[tuple[Claim, Pause]], *, actor: str) -> set[int]:
    pauses = {claim.id: pause.id for claim, pause in claims}
    ids = queue.set_aside(connection, held=queue.held(claim for claim, _ in claims), pause_ids=list(pauses.values()))
    lines: list[tuple[int, dict[str, object]]] = [(id, {"pause": pauses[id]}) for id in sorted(ids)]
    events.append_many(connection, kind="held back", actor=actor, route=ROUTE, lines=lines)
    return ids
