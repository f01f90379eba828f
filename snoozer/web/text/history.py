"""The paper trail in a person's words, and lists cut into days."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from snoozer.web.text.phrase_text import end_of
from snoozer.web.text.time_format import Clock

MOST_LINES = 100
_ROUTES = {"web": "on these pages", "link": "by the link in the mail", "api": "by a program of yours"}

_WORDS = {
    "failed": "A try failed. It is tried again.",
    "recovered": "The worker that held it was lost. Another one takes over.",
    "uncertain": "It was handed over, but the mail server's answer was lost.",
    "resent": "It was sent once more, as the same mail.",
    "late": "The mail server's answer came late.",
    "retired": "It could not be delivered and became a case for whoever runs this Snoozer.",
    "set aside": "It may have been sent before this Snoozer was restored, so whoever runs it decides.",
    "reactivated": "An operator sent it back to work.",
    "dismissed": "An operator closed the case. Nothing more is sent.",
    "edited": "You changed it {route}.",
    "cancelled": "You cancelled it {route}.",
    "undone": "You undid that {route}.",
    "done": "You were done with it {route}.",
    "again": "You snoozed it again {route}.",
    "answered": "You answered it {route}, so it had come. It goes on with its next time.",
    "paused": "It was paused.",
}


_SAID = {
    "asked": "You put it away {route}: “{phrase}”.",
    "edited": "You changed it {route}: “{phrase}”.",
}
_MOVES = {
    "zone": "It went with you from {old} to {zone}: the same hour on the clock, another instant.",
    "rules": "The rules of {zone} changed, so the same hour on the clock is another instant.",
}


@dataclass(frozen=True, kw_only=True)
class Day:
    """The rows of one day under one heading; `date` stands beside a name such as Tomorrow."""

    name: str
    date: str
    rows: Sequence[Any]


def happened(events: Iterable[Any], sends: Iterable[Any], clock: Clock) -> list[tuple[datetime, str]]:
    """The trail of one snooze with each of its reminders that went out, the newest first."""
    lines = [(event.at, event_words(event, clock)) for event in events]
    lines += [
        (send.sent_at, f"The mail server took the reminder for {clock.inline(send.scheduled_for)}.")
        for send in sends
        if send.state == "sent" and send.sent_at is not None and send.resolved_by != "user"
    ]
    return sorted(lines, key=lambda line: line[0], reverse=True)[:MOST_LINES]


def event_words(event: Any, clock: Clock) -> str:
    """One line of the trail."""
    ended = event.detail.get("ended")
    return f"{_event(event)} {end_of(ended, clock)}" if ended else _event(event)


def _event(event: Any) -> str:
    why = event.detail.get("why")
    if event.kind == "edited" and why in _MOVES:
        return _MOVES[why].format(zone=_place(event.detail.get("zone")), old=_place(event.detail.get("from")))
    phrase = event.detail.get("phrase")
    words = (_SAID if phrase else _WORDS).get(event.kind) or _WORDS.get(event.kind) or _plain(event.kind)
    words = words.replace(" {route}", f" {_ROUTES[event.route]}" if event.route in _ROUTES else "")
    return words.replace("{phrase}", str(phrase))


def _plain(kind: str) -> str:
    return f"{kind.replace('_', ' ').capitalize()}."


def _place(zone: object) -> str:
    return str(zone).replace("_", " ")


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
