"""The timeline of one row: its events, and the steps that its ledger entries record."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from snoozer.db.queries import Found
from snoozer.web.operators.audit_texts import actor_text, name_text, value_text
from snoozer.web.text.redaction import plain
from snoozer.web.text.time_format import TimeFormatter

# Data for an undo is private to the person.
_NOT_SHOWN = {"note", "before", "after", "places"}
MAX_DETAIL_LENGTH = 1_000


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One step: `what` in a word or two, the rest of the sentence, and lines of details. All of it is text for an
    operator, without addresses."""

    at: datetime
    what: str
    rest: str
    source: str
    details: Sequence[str] = ()


def timeline(row: Found, *, sends: Sequence[Found], events: Sequence[Found], times: TimeFormatter) -> list[Moment]:
    """The newest step first; if times are equal, an event follows the ledger entry that caused it."""
    moments = [
        Moment(at=row.created_at, what="snoozed", rest="", source="row"),
        *(moment for send in sends for moment in _of_send(send)),
        *(_of_event(event, times) for event in reversed(events)),
    ]
    if row.claimed_at is not None:
        moments.append(
            Moment(at=row.claimed_at, what="claimed", rest=f"by {plain(row.claimed_by, limit=100)}", source="row")
        )
    if row.finished_at is not None:
        word = {"retired": "became a case", "sent": "finished"}.get(row.outcome, "closed")
        moments.append(Moment(at=row.finished_at, what=word, rest="", source="row"))
    # The sort is stable: of equal times, the later item in the list counts as later.
    return sorted(moments, key=lambda moment: moment.at)[::-1]


def _of_send(send: Found) -> Iterator[Moment]:
    yield Moment(at=send.reserved_at, what="prepared", rest="its entry was made", source="ledger")
    if send.dot_authorised_at is not None:
        yield Moment(
            at=send.dot_authorised_at, what="end authorised", rest="it may be sent from here on", source="ledger"
        )
    if send.uncertain_at is not None:
        yield Moment(at=send.uncertain_at, what="uncertain", rest="no answer came to its end", source="ledger")
    if send.sent_at is not None:
        reply = " ".join(str(code) for code in (send.smtp_code, send.enhanced_code) if code)
        late = ", recorded late" if send.late else ""
        rest = f"the mail server answered {plain(reply, limit=40)}{late}" if reply else f"listed in a digest{late}"
        yield Moment(at=send.sent_at, what="sent", rest=rest, source="ledger")
    if send.resolved_at is not None:
        by = plain(actor_text(send.resolved_by or "unknown"), limit=40)
        rest = f"{plain(send.resolution, limit=40)} by {by}"
        yield Moment(at=send.resolved_at, what="resolved", rest=rest, source="ledger")


def _of_event(event: Found, times: TimeFormatter) -> Moment:
    return Moment(
        at=event.at,
        what=plain(event.kind, limit=100),
        rest=f"by {plain(actor_text(event.actor), limit=100)}, through {plain(event.route, limit=100)}",
        source="event",
        details=[
            f"{plain(name_text(name), limit=100)}: {plain(value_text(value, times), limit=MAX_DETAIL_LENGTH)}"
            for name, value in event.detail.items()
            if value is not None and value != "" and name not in _NOT_SHOWN
        ],
    )
