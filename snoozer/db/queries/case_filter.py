"""Filters of cases: by error, person, time and message, as the list's URL encodes them.

A page's URL, and so a log, names no person and no message: both are given by the id of a snooze of the same person or
message.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from sqlalchemy import ColumnElement, and_, func, literal, select

from snoozer.db.models import ArchivedSnooze, Snooze

# The first digit of a fingerprint, as snooze_error_class() returns it, by its name in URLs.
CLASSES = {"5xx": "5", "4xx": "4", "uncertain": "a", "lost": "b", "other": "0"}
MAX_SPAN = timedelta(days=3660)
_MAX_ID = 2**63 - 1
_FINGERPRINT = re.compile(r"[0-9a-f]{32}")
_DOMAIN = re.compile(r"[^\s@/\\\x00-\x1f\x7f]{1,253}")
_ID = re.compile(r"[1-9][0-9]{0,18}")
_SPAN = re.compile(r"([1-9][0-9]{0,4})([mhd])")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)

# A bound parameter would keep the planner from using the partial indexes of cases.
IS_CASE: ColumnElement[bool] = Snooze.outcome == literal("retired", literal_execute=True)
error_fingerprint: ColumnElement[str] = func.snooze_error_fingerprint(Snooze.last_error)
recipient_domain = func.snooze_recipient_domain(Snooze.user_email)


class InvalidFilter(ValueError):
    """A field of the filter is invalid; the text says which field and what it may contain."""


@dataclass(frozen=True, kw_only=True)
class Filter:
    """The properties that cases must have; a field that is None does not restrict them. An empty filter means every
    case.

    `reason` is the fingerprint of an error. `person` and `message` are ids of snoozes, of the same person or the same
    message. `since` and `until` are when they became cases: an instant, or how long ago.
    """

    reason: str | None = None
    error_class: str | None = None
    domain: str | None = None
    person: int | None = None
    message: int | None = None
    since: datetime | timedelta | None = None
    until: datetime | timedelta | None = None

    @classmethod
    def from_args(cls, given: Mapping[str, Any]) -> Self:
        """Parse the query of a URL, or a form, and ignore its other fields. Raises InvalidFilter."""
        texts = {name: str(given.get(_names[name]) or "").strip() for name in _names}
        return cls(**{name: _PARSERS[name](text) for name, text in texts.items() if text})

    def as_args(self) -> dict[str, Any]:
        """The inverse of `from_args`: the fields of an address, always the same for the same filter."""
        values = ((_names[name], getattr(self, name)) for name in _names)
        return {name: _written(value) for name, value in values if value is not None}

    def without(self, name: str) -> Self:
        """The same filter without this field of an address."""
        return type(self).from_args({key: text for key, text in self.as_args().items() if key != name})

    def fixed(self, now: datetime) -> Self:
        """The same filter at that time, whenever it is read: how long ago becomes an instant."""
        since, until = (now - m if isinstance(m, timedelta) else m for m in (self.since, self.until))
        return replace(self, since=since, until=until)

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) is not None for field in fields(self))

    def conditions(self) -> list[ColumnElement[bool]]:
        """The conditions on a row of `Snooze` that make it such a case."""
        found = [IS_CASE]
        if self.reason is not None:
            found.append(error_fingerprint == self.reason)
        if self.error_class is not None:
            found.append(func.snooze_error_class(Snooze.last_error) == CLASSES[self.error_class])
        if self.domain is not None:
            found.append(recipient_domain == self.domain)
        if self.person is not None:
            found.append(Snooze.user_email == of_snooze("user_email", self.person))
        if self.message is not None:
            message_id = of_snooze("message_id", self.message)
            found.append(and_(func.md5(Snooze.message_id) == func.md5(message_id), Snooze.message_id == message_id))
        if self.since is not None:
            found.append(Snooze.finished_at >= _instant(self.since))
        if self.until is not None:
            found.append(Snooze.finished_at <= _instant(self.until))
        return found


# As addresses and forms call the fields, in the order in which an address has them.
_names = {name: name for name in ("reason", "domain", "person", "message", "since", "until")} | {"error_class": "class"}


def of_snooze(column: str, id: int) -> Any:
    """A column of the snooze with this id, live or archived; NULL if there is none, so that no row is equal."""
    archived = ArchivedSnooze.__table__.c
    live = select(getattr(Snooze, column)).where(Snooze.id == id).correlate(None).scalar_subquery()
    old = select(archived[column]).where(archived.id == id).limit(1).scalar_subquery()
    return select(func.coalesce(live, old)).scalar_subquery()


def _instant(moment: datetime | timedelta) -> Any:
    return func.now() - moment if isinstance(moment, timedelta) else moment


def _fingerprint(text: str) -> str:
    if not _FINGERPRINT.fullmatch(text):
        raise InvalidFilter("A reason is the fingerprint of an error: 32 hexadecimal digits.")
    return text


def _error_class(text: str) -> str:
    if text not in CLASSES:
        raise InvalidFilter(f"A class of errors is one of {', '.join(CLASSES)}.")
    return text


def _domain(text: str) -> str:
    domain = text.removeprefix("@").rstrip(".").lower()
    if not _DOMAIN.fullmatch(domain):
        raise InvalidFilter("A domain is what stands behind the @ of an address, such as example.org.")
    return domain


def _snooze_id(text: str) -> int:
    if not _ID.fullmatch(text) or int(text) > _MAX_ID:
        raise InvalidFilter("A person and a message are named by the number of one of their snoozes.")
    return int(text)


def parse_moment(text: str) -> datetime | timedelta:
    """An instant with its zone (2026-03-05T08:00Z), or how long ago (90m, 24h, 7d). Raises InvalidFilter."""
    span = _SPAN.fullmatch(text)
    if span and (ago := int(span[1]) * _UNITS[span[2]]) <= MAX_SPAN:
        return ago
    try:
        # In a query, a + that was not escaped is a space.
        instant = datetime.fromisoformat(text.replace(" ", "+"))
        if instant.tzinfo is not None and _EARLIEST <= instant <= _LATEST:
            return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise InvalidFilter("A time is an instant with its zone (2026-03-05T08:00Z), or how long ago (90m, 24h, 7d).")


_PARSERS: dict[str, Any] = {
    "reason": _fingerprint,
    "error_class": _error_class,
    "domain": _domain,
    "person": _snooze_id,
    "message": _snooze_id,
    "since": parse_moment,
    "until": parse_moment,
}


def _written(value: Any) -> str:
    if isinstance(value, timedelta):
        unit = next(unit for unit in ("d", "h", "m") if not value % _UNITS[unit])
        return f"{value // _UNITS[unit]}{unit}"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value)
