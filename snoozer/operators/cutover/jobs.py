"""A job of another scheduler as a snooze: its values, each checked, or why it is refused."""

import hashlib
import json
import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from snoozer.operators.cutover.record import Record
from snoozer.people import accounts
from snoozer.people.accounts import InvalidAddress
from snoozer.people.personal_data.rows import (
    MAX_OPTION,
    MAX_SENDER,
    MAX_SUBJECT,
    RowRefused,
    read_message_id,
    read_recurrence,
    read_text,
)
from snoozer.queue.limits import MAX_NOTE_LENGTH, MAX_PRIORITY, MIN_PRIORITY
from snoozer.snoozes.input import SnoozeError, parse_phrase
from snoozer.timephrase.recurrence import Recurrence
from snoozer.timephrase.zones import canonical, resolve_wall_time, wall_time, zone_of

FIELDS = (
    *("job_id", "user_email", "message_id", "remind_at", "when", "recurrence", "zone", "subject", "sender_email"),
    *("note", "priority", "serialization_key", "reference"),
)
# The fields of a source of sends.
SEND_FIELDS = ("job_id", "sent_at")
MAX_JOB_ID = 500
_EARLIEST, _LATEST = datetime(1970, 1, 2, tzinfo=UTC), timedelta(days=3653)


class JobRefused(ValueError):
    """A job that is left out; the text goes on after "because"."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job, as it is entered in the queue. A `recurrence` is counted in `zone`, by the clock there."""

    job_id: str
    user_email: str
    message_id: str
    due_at: datetime
    recurrence: dict[str, Any] | None = None
    zone: str | None = None
    subject: str | None = None
    sender_email: str | None = None
    note: str | None = None
    priority: int = 0
    serialization_key: str | None = None
    reference: str | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The values by the names of their columns, as JSON takes them."""
        wall = None if self.recurrence is None else wall_time(self.due_at, self.zone or "UTC").isoformat()
        return vars(self) | {"due_at": self.due_at.isoformat(), "wall_time": wall}


@dataclass(frozen=True, kw_only=True)
class JobReader:
    """Reads jobs of the scheduler `name`. `columns` maps each field to its name in the source, `values` has constants
    for all jobs. Times without an offset are in `zone`; without a zone they are refused. Jobs due longer than `overdue`
    ago are refused, too: otherwise they would be sent at once."""

    name: str
    columns: dict[str, str]
    values: dict[str, str] = field(default_factory=dict)
    zone: str | None = None
    locale: str = "en_US"
    overdue: timedelta = timedelta(days=1)

    def read(self, record: Record, *, now: datetime) -> Job:
        """Raises JobRefused."""
        if record.values is None:
            raise JobRefused(record.reason or "it cannot be read")
        given = {name: record.values.get(column) for name, column in self.columns.items()} | self.values
        given = {name: None if value == "" else value for name, value in given.items()}
        job_id = read_job_id(given.get("job_id"))
        zone = self._zone(given.get("zone"))
        try:
            due, recurrence = self._due(given, zone=zone, now=now)
            message_id = given.get("message_id")
            return Job(
                job_id=job_id,
                user_email=_address(given.get("user_email")),
                message_id=self.message_id(job_id) if message_id is None else read_message_id(message_id),
                due_at=due,
                recurrence=None if recurrence is None else recurrence.as_json(),
                zone=None if recurrence is None else zone,
                subject=read_text(given.get("subject"), most=MAX_SUBJECT),
                sender_email=read_text(given.get("sender_email"), most=MAX_SENDER),
                note=read_text(given.get("note"), most=MAX_NOTE_LENGTH),
                priority=_priority(given.get("priority")),
                serialization_key=_key(given.get("serialization_key")),
                reference=_reference(given.get("reference")),
            )
        except RowRefused as refused:
            raise JobRefused(str(refused)) from None

    def message_id(self, job_id: str) -> str:
        """The message of a job that names none: always the same one, so that a job is one snooze even if it is imported
        repeatedly."""
        digest = hashlib.sha256(f"{self.name}\0{job_id}".encode()).hexdigest()[:40]
        return f"<{digest}@{self.name}.cutover.invalid>"

    def _zone(self, value: Any) -> str | None:
        name = self.zone if value is None else canonical(value) if isinstance(value, str) else None
        if value is not None and name is None:
            raise JobRefused("its zone is unknown")
        return name

    def _due(self, given: dict[str, Any], *, zone: str | None, now: datetime) -> tuple[datetime, Recurrence | None]:
        phrase, value = given.get("when"), given.get("remind_at")
        if phrase is not None and value is not None:
            raise JobRefused("it has both a time and a phrase")
        recurrence = _recurrence(given.get("recurrence"), zone=zone, now=now)
        if phrase is not None:
            due, repeats = self._phrase(phrase, zone=zone, now=now)
            recurrence = recurrence or repeats
        else:
            due = read_time(value, name="remind_at", zone=zone)
        if due < now - self.overdue:
            raise JobRefused(f"it was due at {due.isoformat(timespec='seconds')}, too long ago to be sent now")
        if due > now + _LATEST:
            raise JobRefused("it is due more than ten years from now")
        return due, recurrence

    def _phrase(self, phrase: Any, *, zone: str | None, now: datetime) -> tuple[datetime, Recurrence | None]:
        if not isinstance(phrase, str) or zone is None:
            raise JobRefused("a phrase is a text, and needs a zone (--zone)")
        try:
            reading = parse_phrase(phrase, now=now, zone=zone, locale=self.locale)
        except SnoozeError as error:
            raise JobRefused(f"its phrase is refused: {error.message.rstrip('.')}") from None
        if reading.at is None:
            raise JobRefused("its phrase names no time")
        return reading.at.astimezone(UTC), reading.recurrence


def read_job_id(value: Any) -> str:
    """The job's id in the old scheduler. Raises JobRefused."""
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_JOB_ID or read_text(text, most=600) != text:
        raise JobRefused(f"its job_id is no text of 1 to {MAX_JOB_ID} characters")
    return text


def read_time(value: Any, *, name: str, zone: str | None) -> datetime:
    """An instant: ISO 8601, a datetime, or seconds since 1970. Raises JobRefused."""
    try:
        if isinstance(value, str):
            at: Any = datetime.fromtimestamp(float(value), UTC) if _is_number(value) else datetime.fromisoformat(value)
        elif type(value) in (int, float):
            at = datetime.fromtimestamp(value, UTC)
        else:
            at = value
        if not isinstance(at, datetime):
            raise JobRefused(f"its {name} is no time")
        if at.tzinfo is None:
            if zone is None:
                raise JobRefused(f"its {name} has no offset (--zone says in which zone it is meant)")
            at, _ = resolve_wall_time(at, zone_of(zone))
        instant: datetime = at.astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        if isinstance(error, JobRefused):
            raise
        raise JobRefused(f"its {name} is no time") from None
    if instant < _EARLIEST:
        raise JobRefused(f"its {name} lies before 1970")
    return instant


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]{9,12}(\.[0-9]{1,9})?", text) is not None


def _address(value: Any) -> str:
    try:
        return accounts.normalize(value if isinstance(value, str) else "")
    except InvalidAddress:
        raise JobRefused("its user_email is no address") from None


def _priority(value: Any) -> int:
    try:
        number = int(value) if isinstance(value, str) else 0 if value is None else value
    except ValueError:
        number = None
    if type(number) is not int or not MIN_PRIORITY <= number <= MAX_PRIORITY:
        raise JobRefused(f"its priority is no whole number from {MIN_PRIORITY} to {MAX_PRIORITY}")
    return number


def _key(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return read_message_id(str(value) if type(value) is int else value)
    except RowRefused:
        raise JobRefused("its serialization_key is no text of 1 to 998 octets") from None


def _reference(value: Any) -> str | None:
    """Refuse a long text: truncated, it would have another meaning."""
    text = str(value) if type(value) is int else value
    if text is not None and (not isinstance(text, str) or read_text(text, most=MAX_OPTION) != text):
        raise JobRefused(f"its reference is no text of 1 to {MAX_OPTION} characters")
    return text


def _recurrence(value: Any, *, zone: str | None, now: datetime) -> Recurrence | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = "unreadable"
    if isinstance(value, float) and not math.isfinite(value):
        value = "unreadable"
    return None if value is None else read_recurrence(value, zone=zone, now=now)
