"""Search of snoozed messages: words, and filters such as `from:ann due:<friday repeats:`."""

from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Literal, get_args

from snoozer.db.queries.snoozes import Field, Filters, SoughtState
from snoozer.mailboxes import search_terms
from snoozer.mailboxes.search_terms import MAX_TERMS, Term
from snoozer.snoozes import input
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.zones import zone_or_utc
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web.text.time_format import TimeFormatter

MAX_LENGTH = 200
Name = Field | Literal["due", "state", "repeats"]

_FIELDS: dict[str, Name] = {"": "text", "from": "from", "subject": "subject", "note": "note", "due": "due"}
_FIELDS |= {"state": "state", "repeats": "repeats"}


class SearchError(ValueError):
    """A filter is invalid; `message` names it, and its valid values."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True)
class Example:
    """An example of a filter, and a description of its results."""

    typed: str
    finds: str


EXAMPLES = (
    Example("from:ann", N_("by its sender")),
    Example("subject:invoice", N_("by its subject")),
    Example("note:call", N_("by your note")),
    Example("due:<friday", N_("back before Friday")),
    Example("due:tomorrow", N_("back tomorrow")),
    Example("state:late", N_("or paused, or stuck")),
    Example("repeats:", N_("what repeats")),
)


def parse(typed: str, *, times: TimeFormatter) -> Filters:
    """Words and filters, all of which must match; a term that is not a filter is a word. Raises SearchError for an
    invalid day or state, and for more than `MAX_TERMS`."""
    terms = search_terms.parse(typed[:MAX_LENGTH], _FIELDS, alone=("due", "state", "repeats"))
    if len(terms) > MAX_TERMS:
        raise SearchError(
            _("“%(typed)s” is too much: type at most %(max)s words and filters.", typed=typed, max=MAX_TERMS)
        )
    filters = Filters()
    for term in terms:
        filters = _add(filters, term, times=times)
    return filters


def _add(filters: Filters, term: Term[Name], *, times: TimeFormatter) -> Filters:
    if term.field == "repeats":
        return replace(filters, repeats=True)
    if term.field == "state":
        return replace(filters, state=_state(term.text))
    if term.field == "due":
        return _with_day(filters, term.text, times=times)
    return replace(filters, texts=(*filters.texts, (term.field, term.text)))


def _state(value: str) -> SoughtState:
    state: SoughtState
    for state in get_args(SoughtState):
        if state == value.lower():
            return state
    names = ", ".join(f"state:{one}" for one in get_args(SoughtState))
    raise SearchError(_("“state:%(value)s” is no state. There are %(names)s.", value=value, names=names))


def _with_day(filters: Filters, text: str, *, times: TimeFormatter) -> Filters:
    comparison = text[:1] if text[:1] in ("<", ">") else ""
    start = read_day(text.removeprefix(comparison), times)
    end = start + timedelta(days=1)
    if comparison == "<":
        return replace(filters, before=start)
    if comparison == ">":
        return replace(filters, since=end)
    return replace(filters, since=start, before=end)


def read_day(value: str, times: TimeFormatter) -> datetime:
    """The start of the day that a phrase means, also of today. Raises SearchError."""
    zone = zone_or_utc(times.zone)
    this_morning = datetime.combine(times.local(times.now), time(), tzinfo=zone)
    has_passed = False
    for phrase in (f"{value} 12:00", value) if value else ():
        try:
            reading = input.parse_phrase(phrase, now=this_morning, zone=times.zone, locale=times.locale, own=times.own)
        except SnoozeError as error:
            has_passed = has_passed or error.code == "past"
        else:
            if reading.at is not None:
                return datetime.combine(times.local(reading.at), time(), tzinfo=zone)
    examples = 'due:friday, due:<monday or due:>"24 dec"'
    if has_passed:
        problem = _("“due:%(value)s” has passed.", value=value)
    else:
        problem = _("“due:%(value)s” is no day.", value=value)
    advice = _("Type one such as %(examples)s; state:late finds what is late.", examples=examples)
    raise SearchError(f"{problem} {advice}")
