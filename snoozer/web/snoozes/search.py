"""Search of what is asleep: words, and filters such as `from:ann due:<friday repeats:`."""

import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import get_args

from snoozer import snoozing
from snoozer.db.queries.snoozes import Field, Filters, SoughtState
from snoozer.snoozing import SnoozeError
from snoozer.timephrase.zones import zone_or_utc
from snoozer.web.text.time_format import TimeFormatter

MAX_LENGTH = 200
MAX_TERMS = 8

_TERM = re.compile(r'(?:([a-z]+):([<>]?))?(?:"([^"]*)"?|(\S+)|(?<=[:<>]))', re.IGNORECASE)
_FIELDS: dict[str, Field] = {"from": "from", "subject": "subject", "note": "note"}


class SearchError(ValueError):
    """A filter means nothing; `message` says which one, and what it may be."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True)
class Example:
    """A filter, and what it finds."""

    typed: str
    finds: str


EXAMPLES = (
    Example("from:ann", "by its sender"),
    Example("subject:invoice", "by its subject"),
    Example("note:call", "by your note"),
    Example("due:<friday", "back before Friday"),
    Example("due:tomorrow", "back tomorrow"),
    Example("state:late", "or paused, or stuck"),
    Example("repeats:", "what repeats"),
)


def parse(typed: str, *, times: TimeFormatter) -> Filters:
    """Words and filters, of which all must be met; what is no filter is a word. Raises SearchError for a day or a state
    that cannot be read."""
    plain = "".join(" " if unicodedata.category(char)[0] == "C" else char for char in typed[:MAX_LENGTH])
    filters = Filters()
    terms = [term for term in _TERM.findall(unicodedata.normalize("NFC", plain)) if any(term)]
    if len(terms) > MAX_TERMS:
        raise SearchError(f"“{typed}” is too much: type at most {MAX_TERMS} words and filters.")
    for name, comparison, phrase, word in terms:
        filters = _add(filters, name.lower(), comparison, " ".join((phrase or word).split()), times=times)
    return filters


def _add(filters: Filters, name: str, comparison: str, value: str, *, times: TimeFormatter) -> Filters:
    if name == "repeats":
        return replace(filters, repeats=True)
    if name == "state":
        return replace(filters, state=_state(value))
    if name == "due":
        return _with_day(filters, comparison, value, times=times)
    field = _FIELDS.get(name, "text")
    text = value if name in _FIELDS or not name else f"{name}:{comparison}{value}"
    return replace(filters, texts=(*filters.texts, (field, text))) if text else filters


def _state(value: str) -> SoughtState:
    state: SoughtState
    for state in get_args(SoughtState):
        if state == value.lower():
            return state
    raise SearchError(
        f"“state:{value}” is no state. There are {', '.join(f'state:{one}' for one in get_args(SoughtState))}."
    )


def _with_day(filters: Filters, comparison: str, value: str, *, times: TimeFormatter) -> Filters:
    start = _day(value, times)
    end = start + timedelta(days=1)
    if comparison == "<":
        return replace(filters, before=start)
    if comparison == ">":
        return replace(filters, since=end)
    return replace(filters, since=start, before=end)


def _day(value: str, times: TimeFormatter) -> datetime:
    """The start of the day that a phrase means, also of today."""
    zone = zone_or_utc(times.zone)
    this_morning = datetime.combine(times.local(times.now), time(), tzinfo=zone)
    problem = "is no day"
    for phrase in (f"{value} 12:00", value) if value else ():
        try:
            reading = snoozing.parse_phrase(phrase, now=this_morning, zone=times.zone, locale=times.locale)
        except SnoozeError as error:
            problem = "has passed" if error.code == "past" else problem
        else:
            if reading.at is not None:
                return datetime.combine(times.local(reading.at), time(), tzinfo=zone)
    examples = 'due:friday, due:<monday or due:>"24 dec"'
    raise SearchError(f"“due:{value}” {problem}. Type one such as {examples}; state:late finds what is late.")
