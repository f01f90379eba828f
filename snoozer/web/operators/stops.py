"""Mail servers and broad pauses that operators stopped: by whom, since when and why, each with the form that resumes
it."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from sqlalchemy import Connection

from snoozer.db.pauses import Kind
from snoozer.db.queries import Found, metrics, pauses
from snoozer.db.queries.delivery import FORGOTTEN_AFTER
from snoozer.web.operators.pause_forms import scope_in_words
from snoozer.web.operators.remedies import Harm, Resume, Trouble
from snoozer.web.text.redaction import without_addresses

TimeOf = Callable[[datetime], str]


def read(connection: Connection, *, now: datetime, time_of: TimeOf) -> list[Trouble]:
    """The current stops, for pages without the overview's figures."""
    found = list(paused(pauses.active(connection, kinds=pauses.BROAD), time_of=time_of))
    for breaker in metrics.breakers(connection):
        if is_stopped(breaker, now=now):
            text = f"{tripped_text(breaker, time_of=time_of)}."
            resume = reset(breaker.server)
            found.append(Trouble(kind="mail server tripped", text=text, harm="risk", resume=resume, explains_rest=True))
    return found


def paused(
    active: Iterable[Found],
    *,
    time_of: TimeOf,
    with_waiting: Callable[[str], str] = "{}.".format,
    is_late: bool = False,
) -> Iterator[Trouble]:
    """The pauses. `with_waiting` ends the sentence about a pause of all reminders with the reminders that are due: only
    claims are set aside then."""
    for pause in active:
        kind: Kind = pause.kind
        until = f"until {time_of(pause.until)}" if pause.until else "no end set"
        text = (
            f"{_who(pause.actor)} paused {scope_in_words(kind, pause.value)} at {time_of(pause.since)} "
            f"({without_addresses(pause.reason)}), {until}"
        )
        holds_all = kind == "all" or (kind == "channel" and pause.value == "mail")
        if pause.set_aside:
            more = " or more" if pause.set_aside > pauses.MAX_COUNTED else ""
            one, many = ("is set aside", "are set aside") if holds_all else ("waits", "wait")
            waits = f"reminder {one}" if pause.set_aside == 1 else f"reminders {many}"
            text += f"; {min(pause.set_aside, pauses.MAX_COUNTED):,}{more} {waits}"
            text += "" if holds_all else "; nothing is lost"
        resume = Resume(act="resume", endpoint="admin_pauses.resume", reason="why", arguments={"id": pause.id})
        is_wide = kind in ("all", "channel")
        harm: Harm = "now" if (is_wide and pause.set_aside) or (holds_all and is_late) else "risk"
        text = with_waiting(text) if holds_all else f"{text}."
        yield Trouble(kind="paused", text=text, harm=harm, resume=resume, explains_rest=is_wide)


def is_stopped(breaker: Found, *, now: datetime) -> bool:
    """Whether an operator stopped a mail server that is in use."""
    return breaker.tripped_at is not None and breaker.updated_at >= now - FORGOTTEN_AFTER


def tripped_text(breaker: Found, *, time_of: TimeOf) -> str:
    by, why = _who(breaker.tripped_by).lower(), without_addresses(breaker.trip_reason)
    return f"Nothing is sent by {breaker.server} since {by} stopped it at {time_of(breaker.tripped_at)} ({why})"


def reset(server: str) -> Resume:
    return Resume(act="reset_breaker", endpoint="admin_breakers.reset", reason="reason", hidden={"server": server})


def _who(actor: str) -> str:
    """Returns "Operator 7"."""
    return actor.replace(":", " ").capitalize()
