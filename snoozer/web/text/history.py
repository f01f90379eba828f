"""A snooze's history as sentences for its owner, and lists grouped by day."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from snoozer.web.text.arrival_text import REST_ENDS, arrival_of
from snoozer.web.text.phrase_text import recurrence_ended_text
from snoozer.web.text.reply_text import came_text
from snoozer.web.text.time_format import TimeFormatter, parse_instant

MAX_LINES = 100

_ROUTES = {
    "web": "on these pages",
    "link": "by the link in the mail",
    "api": "by a program of yours",
    "mailbox": "in your mailbox",
}
_SENTENCES = {
    "failed": "A try failed. It is tried again.",
    "recovered": "The worker that held it was lost. Another one takes over.",
    "uncertain": "It was handed over, but the mail server's answer was lost.",
    "resent": "It was sent once more, as the same mail.",
    "verified": "It was found in your mailbox, so it had been sent.",
    "late": "The mail server's answer came late.",
    "retired": "It could not be delivered and became a case for the operators of this Snoozer.",
    "set aside": "It may have been sent before this Snoozer was restored, so its operators decide.",
    "reactivated": "An operator sent it back to work.",
    "dismissed": "An operator closed the case. Nothing more is sent.",
    "edited": "You changed it {route}.",
    "imported": "You brought it along from another place.",
    "cancelled": "You cancelled it {route}.",
    "undone": "You undid that {route}.",
    "done": "You were done with it {route}.",
    "again": "You snoozed it again {route}.",
    "answered": "You answered it {route}, so it had come. It goes on with its next time.",
    "noted": "You changed its note {route}.",
    "skipped": "You skipped a time {route}: {was}.",
    "paused": "You paused it {route}.",
    "resumed": "You resumed it {route}.",
    "back": "You brought it back {route}, before {was}.",
    "returned": "Its message came back to your mailbox, without a reminder, as you chose.",
    "left": "Its message was not where it was, so it could not be brought back.",
}
_WITH_PHRASE = {"asked": "You snoozed it {route}: “{phrase}”.", "edited": "You changed it {route}: “{phrase}”."}
_SCOPES = {
    "once": "You changed only one time {route}: {was} became {now}.",
    "every": "You changed every time {route}, from {now} on.",
    "end": "You changed {route} when its repetition ends.",
}
# By what its owner did to the message of a connected mailbox.
_ENDED_THERE = {
    "moved": "You took its message out of the folder of what is snoozed, so it ended.",
    "gone": "Its message was deleted in your mailbox, or put where it is not found, so it ended.",
}
_ZONE_CHANGES = {
    "zone": "It went with you from {old} to {zone}: the same hour on the clock, another instant.",
    "rules": "The rules of {zone} changed, so the same hour on the clock is another instant.",
}


@dataclass(frozen=True, kw_only=True)
class DayGroup:
    """The rows of one day under one heading; `date` is shown beside a name such as Tomorrow."""

    name: str
    date: str
    rows: Sequence[Any]


def history_lines(events: Iterable[Any], sends: Iterable[Any], times: TimeFormatter) -> list[tuple[datetime, str]]:
    """Returns the events of one snooze and each of its reminders that was sent, newest first."""
    lines = [(event.at, _sentence(event, times)) for event in events]
    lines += [
        (send.sent_at, f"The mail server took the reminder for {times.inline(send.scheduled_for)}.")
        for send in sends
        if send.state == "sent" and send.sent_at is not None and send.resolved_by != "user"
    ]
    return sorted(lines, key=lambda line: line[0], reverse=True)[:MAX_LINES]


def group_by_day(rows: Iterable[Any], times: TimeFormatter) -> list[DayGroup]:
    """Returns rows that are in the order of their times, grouped by day; those that are due form the first group."""
    due: list[Any] = []
    days: dict[str, list[Any]] = {}
    for row in rows:
        at = arrival_of(row, times).at
        if at <= times.now:
            due.append(row)
        else:
            days.setdefault(times.day(at), []).append(row)
    groups = [DayGroup(name="Due", date="", rows=due)] if due else []
    for name, members in days.items():
        date = times.date(arrival_of(members[0], times).at)
        # Beside Tomorrow the whole date, beside Friday without the weekday, beside a date nothing.
        groups.append(DayGroup(name=name, date="" if name == date else date.removeprefix(f"{name} "), rows=members))
    return groups


def _sentence(event: Any, times: TimeFormatter) -> str:
    detail = event.detail
    ended = f" {recurrence_ended_text(detail['ended'], times)}" if detail.get("ended") else ""
    if event.kind == "edited" and detail.get("why") in _ZONE_CHANGES:
        zone, old = (str(detail.get(key)).replace("_", " ") for key in ("zone", "from"))
        return _ZONE_CHANGES[detail["why"]].format(zone=zone, old=old) + ended
    if event.kind == "deferred":
        until = parse_instant(detail.get("until"))
        when = f" {times.inline(until)}" if until else ""
        end = REST_ENDS.get(detail.get("why", ""), "later")
        return f"It was due while nothing comes to you, so it was to come{when}, {end}."
    if event.route == "mailbox" and detail.get("why") in _ENDED_THERE:
        return _ENDED_THERE[detail["why"]]
    if (came := came_text(event.kind, detail, times)) is not None:
        return came
    if event.kind == "edited" and (scoped := _SCOPES.get(detail.get("scope", ""))):
        was, now = (detail.get(key, {}).get("remind_at") for key in ("before", "after"))
        return _filled(scoped, event, times, was=was, now=now)
    phrase = detail.get("phrase")
    unknown = f"{event.kind.replace('_', ' ').capitalize()}."
    sentence = (_WITH_PHRASE.get(event.kind) if phrase else None) or _SENTENCES.get(event.kind, unknown)
    return _filled(sentence, event, times, was=detail.get("was")).replace("{phrase}", str(phrase)) + ended


def _filled(sentence: str, event: Any, times: TimeFormatter, **moments: str | None) -> str:
    sentence = sentence.replace(" {route}", f" {_ROUTES[event.route]}" if event.route in _ROUTES else "")
    for name, text in moments.items():
        moment = parse_instant(text)
        sentence = sentence.replace(f"{{{name}}}", times.inline(moment) if moment else "its time")
    return sentence
