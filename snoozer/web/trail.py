"""The paper trail in a person's words, and lists cut into days."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from snoozer.domain.times import Recurrence
from snoozer.domain.times.sentence import rhythm
from snoozer.web.moments import Clock

_ROUTES = {"web": "on these pages", "link": "by the link in the mail", "api": "by a program of yours"}

_WORDS = {
    "failed": "A try failed. It is tried again.",
    "recovered": "The worker that held it was lost. Another one takes over.",
    "uncertain": "It was handed over, but the mail server's answer was lost.",
    "resent": "It was sent once more, as the same mail.",
    "late": "The mail server's answer came late.",
    "retired": "It could not be delivered and became a case for whoever runs this Snoozer.",
    "reactivated": "An operator sent it back to work.",
    "dismissed": "An operator closed the case. Nothing more is sent.",
    "edited": "You changed it {route}.",
    "cancelled": "You cancelled it {route}.",
    "undone": "You undid that {route}.",
    "done": "You were done with it {route}.",
    "again": "You snoozed it again {route}.",
    "paused": "It was paused.",
}


@dataclass(frozen=True, kw_only=True)
class Day:
    """The rows of one day under one heading; `date` stands beside a name such as Tomorrow."""

    name: str
    date: str
    rows: Sequence[Any]


def event_words(event: Any) -> str:
    """One line of the trail."""
    words = _WORDS.get(event.kind) or f"{str(event.kind).replace('_', ' ').capitalize()}."
    return words.replace(" {route}", f" {_ROUTES[event.route]}" if event.route in _ROUTES else "")


def rhythm_words(recurrence: dict[str, Any]) -> str:
    """Every 2 weeks on Tuesday at 14:00; a plain word for what another program wrote and this one cannot read."""
    try:
        return rhythm(Recurrence.from_json(recurrence))
    except (KeyError, TypeError, ValueError):
        return "In a way that this page cannot read"


def by_day(rows: Iterable[Any], clock: Clock) -> list[Day]:
    """Rows in the order of their times, under a heading for each day; what should be back by now comes first."""
    due: list[Any] = []
    days: dict[str, list[Any]] = {}
    for row in rows:
        if (row.scheduled_for or row.remind_at) <= clock.now:
            due.append(row)
        else:
            days.setdefault(clock.day(row.remind_at), []).append(row)
    headed = [Day(name="Due", date="", rows=due)] if due else []
    for name, held in days.items():
        headed.append(Day(name=name, date=_beside(name, clock.date(held[0].remind_at)), rows=held))
    return headed


def _beside(name: str, date: str) -> str:
    """The date, where the name does not say it: Tomorrow, Sunday 22 November; Friday, 27 November."""
    return "" if name == date else date.removeprefix(f"{name} ")
