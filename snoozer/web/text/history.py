"""A snooze's history as sentences for its owner, and lists grouped by day."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from snoozer.snoozes.recurrence import is_someday
from snoozer.timephrase.zones import zone_in_words
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web.text.arrival_text import REST_ENDS, arrival_of
from snoozer.web.text.phrase_text import recurrence_ended_text
from snoozer.web.text.reply_text import came_text
from snoozer.web.text.status import digest_text, report_text
from snoozer.web.text.time_format import TimeFormatter, parse_instant

MAX_LINES = 100

_ROUTES = {
    "web": N_("on these pages"),
    "link": N_("by the link in the mail"),
    "api": N_("by a program of yours"),
    "mailbox": N_("in your mailbox"),
}
_SENTENCES = {
    "failed": N_("A try failed. It is tried again."),
    "recovered": N_("The worker that held it was lost. Another one takes over."),
    "uncertain": N_("It was handed over, but the mail server's answer was lost."),
    "resent": N_("It was sent once more, as the same mail."),
    "verified": N_("It was found in your mailbox, so it had been sent."),
    "late": N_("The mail server's answer came late."),
    "bounced": N_("It did not arrive: a mail system returned it{reason}."),
    "delivery delayed": N_("A mail system could not deliver it yet and goes on trying{reason}."),
    "complained": N_("It was reported as spam in your mailbox."),
    "retired": N_("It could not be delivered and became a case for the operators of this Snoozer."),
    "set aside": N_("It may have been sent before this Snoozer was restored, so its operators decide."),
    "reactivated": N_("An operator sent it back to work."),
    "dismissed": N_("An operator closed the case. Nothing more is sent."),
    "act undone": N_("An operator took that back, and it waits for a decision again."),
    "delayed": N_("An operator put its next try off."),
    "attempts raised": N_("An operator allowed more tries."),
    "settled as sent": N_("An operator found that it had been sent."),
    "sent again": N_("An operator had it sent again, as the same mail."),
    "dropped": N_("An operator decided that it is not sent again."),
    "held back": N_("It came due while an operator of this Snoozer had paused it, so it waits."),
    "goes on": N_("The pause of the operator ended, so it goes on."),
    "taken back": N_("An operator took it back from the worker that held it."),
    "asked": N_("You snoozed it {route}."),
    "edited": N_("You changed it {route}."),
    "imported": N_("You imported it from elsewhere."),
    "cancelled": N_("You cancelled it {route}."),
    "undone": N_("You undid that {route}."),
    "done": N_("You were done with it {route}."),
    "again": N_("You snoozed it again {route}."),
    "sent singly": N_("You chose {route} that each reminder comes in a mail of its own."),
    "answered": N_("You answered it {route}, so it had come. It goes on with its next time."),
    "noted": N_("You changed its note {route}."),
    "skipped": N_("You skipped a time {route}: {was}."),
    "paused": N_("You paused it {route}."),
    "resumed": N_("You resumed it {route}."),
    "back": N_("You brought it back {route}, before {was}."),
    "returned": N_("Its message came back to your mailbox, without a reminder, as you chose."),
    "left": N_("Its message was not where it was, so it could not be brought back."),
}
_WITH_PHRASE = {
    "asked": N_("You snoozed it {route}: “{phrase}”."),
    "edited": N_("You changed it {route}: “{phrase}”."),
}
_SCOPES = {
    "once": N_("You changed only one time {route}: {was} became {now}."),
    "every": N_("You changed every time {route}, from {now} on."),
    "end": N_("You changed {route} when its repetition ends."),
}
# The mailbox did not put the message of a program's snooze away.
_STAYED = {
    "absent": N_("Its message was not found in your mailbox, so only its reminder comes."),
    "copies": N_("Your mailbox has more than one copy of its message, so none was moved: only its reminder comes."),
    "mailboxes": N_("More than one of your mailboxes has its message, so none was moved: only its reminder comes."),
}
# By the owner's act on the message of a connected mailbox.
_ENDED_THERE = {
    "moved": N_("You took its message out of the folder of what is snoozed, so it ended."),
    "gone": N_("Its message was deleted in your mailbox, or put where it is not found, so it ended."),
}
_LEFT_CONVERSATION = {
    "moved": N_(
        "You took a message of its conversation out of the folder of what is snoozed. The others come back without it."
    ),
    "gone": N_(
        "A message of its conversation was deleted in your mailbox, or put where it is not found. The others come back "
        "without it."
    ),
}
_LEFT_PAUSED = {
    "moved": N_(
        "You took its message out of the folder of what is snoozed. It stays paused; once you resume it, only its "
        "reminder comes."
    ),
    "gone": N_(
        "Its message was deleted in your mailbox, or put where it is not found. It stays paused; once you resume it, "
        "only its reminder comes."
    ),
}
_ZONE_CHANGES = {
    "zone": N_("It went with you from {old} to {zone}: the same hour on the clock, another instant."),
    "rules": N_("The rules of {zone} changed, so the same hour on the clock is another instant."),
}


@dataclass(frozen=True, kw_only=True)
class DayGroup:
    """The rows of one day under one heading; `date` is shown next to a name such as Tomorrow."""

    name: str
    date: str
    rows: Sequence[Any]


def program_name(name: str | None, token_id: int) -> str:
    """The name of a program, or of its token if that has none."""
    return name or _("Token %(number)s", number=token_id)


def history_lines(events: Iterable[Any], sends: Iterable[Any], times: TimeFormatter) -> list[tuple[datetime, str]]:
    """Returns the events of one snooze and each of its reminders that was sent, newest first."""
    lines = [(event.at, event_text(event, times)) for event in events]
    lines += [
        (
            send.sent_at,
            _("The mail server took the reminder for %(when)s.", when=times.inline(send.scheduled_for))
            + digest_text(send.digest_size),
        )
        for send in sends
        if send.state == "sent" and send.sent_at is not None and send.resolved_by != "user"
    ]
    return sorted(lines, key=lambda line: line[0], reverse=True)[:MAX_LINES]


def group_by_day(
    rows: Iterable[Any], times: TimeFormatter, *, at: Callable[[Any], datetime] | None = None
) -> list[DayGroup]:
    """Returns rows that are sorted by their times, grouped by day; due rows form the first group, rows without a date
    the last one."""
    due: list[Any] = []
    someday: list[Any] = []
    days: dict[str, list[Any]] = {}
    for row in rows:
        then = at(row) if at else arrival_of(row, times).at
        if then <= times.now:
            due.append(row)
        elif is_someday(row):
            someday.append(row)
        else:
            days.setdefault(times.day(then), []).append(row)
    groups = [DayGroup(name=_("Due"), date="", rows=due)] if due else []
    for name, members in days.items():
        date = times.date(at(members[0]) if at else arrival_of(members[0], times).at)
        # Tomorrow gets the full date, Friday the date without the weekday, a date none.
        groups.append(
            DayGroup(name=name, date="" if name == date else date.removeprefix(name).lstrip(" ,"), rows=members)
        )
    return [*groups, DayGroup(name=_("Someday"), date="", rows=someday)] if someday else groups


def event_text(event: Any, times: TimeFormatter) -> str:
    """One event as a sentence for its owner, with the name of the program that acted, if one did."""
    detail = event.detail
    ended = f" {recurrence_ended_text(detail['ended'], times)}" if detail.get("ended") else ""
    if event.kind == "edited" and detail.get("why") in _ZONE_CHANGES:
        zone, old = (zone_in_words(str(detail.get(key))) for key in ("zone", "from"))
        sentence = _ZONE_CHANGES[detail["why"]]
        return _(sentence).format(zone=zone, old=old) + ended
    if event.kind == "deferred":
        until = parse_instant(detail.get("until"))
        end = REST_ENDS.get(detail.get("why", ""))
        if until is None or end is None:
            return _("It was due while nothing comes to you, so it was to come later.")
        return _(
            "It was due while nothing comes to you, so it was to come %(when)s, %(end)s.",
            when=times.inline(until),
            end=_(end),
        )
    if event.route == "mailbox" and detail.get("why") in _ENDED_THERE:
        is_among, is_paused = detail.get("conversation"), detail.get("paused")
        sentence = (_LEFT_CONVERSATION if is_among else _LEFT_PAUSED if is_paused else _ENDED_THERE)[detail["why"]]
        return _(sentence)
    if event.kind == "stayed" and detail.get("why") in _STAYED:
        sentence = _STAYED[detail["why"]]
        return _(sentence)
    if (came := came_text(event.kind, detail, times)) is not None:
        return came
    if event.kind == "edited" and (scoped := _SCOPES.get(detail.get("scope", ""))):
        was, now = (detail.get(key, {}).get("remind_at") for key in ("before", "after"))
        return _filled(scoped, event, times, was=was, now=now)
    phrase = detail.get("phrase")
    unknown = f"{event.kind.replace('_', ' ').capitalize()}."
    sentence = (_WITH_PHRASE.get(event.kind) if phrase else None) or _SENTENCES.get(event.kind, unknown)
    reason = f" ({words})" if (words := report_text(detail)) else ""
    filled = _filled(sentence, event, times, was=detail.get("was"))
    return filled.replace("{phrase}", str(phrase)).replace("{reason}", reason) + ended


def _filled(sentence: str, event: Any, times: TimeFormatter, **moments: str | None) -> str:
    route = f" {_(_ROUTES[event.route])}" if event.route in _ROUTES else ""
    if event.token_id is not None:
        route = " " + _("by the program “%(name)s”", name=program_name(event.program, event.token_id))
    sentence = _(sentence).replace(" {route}", route)
    for name, text in moments.items():
        moment = parse_instant(text)
        sentence = sentence.replace(f"{{{name}}}", times.inline(moment) if moment else _("its time"))
    return sentence
