"""Suggestions for a search: names of filters, and values of the filter that is being typed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from snoozer.db.queries import Found
from snoozer.db.queries.snoozes import SoughtState
from snoozer.mailboxes.search_terms import MAX_TERM_LENGTH, OpenTerm
from snoozer.timephrase.date_format import WEEKDAY_NAMES
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web.snoozes.search import SearchError, read_day
from snoozer.web.text.time_format import TimeFormatter

List = Literal["asleep", "kept", "connected"]
MOST = 7

_NAMES = {
    "from": N_("who sent it"),
    "subject": N_("words of its subject"),
    "note": N_("words of your note"),
    "due": N_("the day it comes back"),
    "state": N_("asleep, late, paused or stuck"),
    "repeats": N_("what repeats"),
}
_STATES: dict[SoughtState, str] = {
    "asleep": N_("not due yet"),
    "late": N_("due, and not back yet"),
    "paused": N_("without a time until you resume it"),
    "stuck": N_("could not be delivered"),
}
# The first are offered before anything is typed. All are phrases in each language.
_DAYS = (N_("today"), N_("tomorrow"))


@dataclass(frozen=True)
class Suggestion:
    """An option: its text, and the full replacement for the typed text."""

    term: str
    about: str
    typed: str


def names_of(list: List) -> Sequence[str]:
    """The filters that a list has."""
    return tuple(_NAMES) if list == "asleep" else ("from", "subject")


def suggest(
    term: OpenTerm, list: List, *, times: TimeFormatter, senders: Callable[[str], Sequence[Found]]
) -> list[Suggestion]:
    """At most `MOST` suggestions for a term; `senders` returns the senders that match a text."""
    if not term.name:
        start = term.text.lower()
        names = [name for name in names_of(list) if f"{name}:".startswith(start)]
        return [_whole(term, f"{name}:", _(_NAMES[name]), ends=name == "repeats") for name in names]
    if term.name == "from":
        return [*_senders(term, senders(term.text))][:MOST]
    if term.name == "state":
        states = [state for state in get_args(SoughtState) if state.startswith(term.text.lower())]
        return [_whole(term, f"state:{state}", _(_STATES[state])) for state in states]
    return [*_days(term, times)][:MOST] if term.name == "due" else []


def _senders(term: OpenTerm, found: Sequence[Found]) -> Iterator[Suggestion]:
    for row in found:
        sender: str = " ".join(row.sender_email.split())
        if '"' not in sender and 0 < len(sender) <= MAX_TERM_LENGTH:
            yield _whole(term, f"from:{_quoted(sender)}", row.sender_name or "")


def _days(term: OpenTerm, times: TimeFormatter) -> Iterator[Suggestion]:
    """Each day once, the next one first, with its date; if no day begins with the typed text, that text itself."""
    tomorrow = times.local(times.now).weekday() + 1
    weekdays = [_(WEEKDAY_NAMES[(tomorrow + days) % 7]).lower() for days in range(7)]
    words = [f"{term.comparison}{word}" for word in (*map(_, _DAYS), *weekdays)]
    if not term.comparison and not term.text:
        friday = _(WEEKDAY_NAMES[4]).lower()
        words = [*words[:2], f"<{friday}", f">{friday}"]
    typed = term.comparison + term.text
    offered = set()
    for value in [word for word in words if word.startswith(typed.lower())] or [typed]:
        comparison = value[:1] if value[:1] in ("<", ">") else ""
        word = value.removeprefix(comparison)
        try:
            start = read_day(word, times)
        except SearchError:
            continue
        if (comparison, start) in offered or (comparison == "<" and start <= times.now):
            continue
        offered.add((comparison, start))
        yield _whole(term, f"due:{comparison}{_quoted(word)}", _day_text(comparison, times.date(start)))


def _day_text(comparison: str, day: str) -> str:
    if comparison == "<":
        return _("before %(day)s", day=day)
    return _("after %(day)s", day=day) if comparison else day


def _quoted(text: str) -> str:
    return f'"{text}"' if " " in text else text


def _whole(term: OpenTerm, chosen: str, about: str, *, ends: bool = True) -> Suggestion:
    """A space ends a term; after a name, its value is typed next."""
    return Suggestion(term=chosen, about=about, typed=term.before + chosen + (" " if ends else ""))
