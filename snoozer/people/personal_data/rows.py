"""One row of an import: its values, each checked. Values that this Snoozer would not have written are refused."""

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from snoozer.queue.limits import MAX_NOTE_LENGTH
from snoozer.queue.promise import EXPORTED
from snoozer.snoozes.input import MAX_MESSAGE_ID_OCTETS
from snoozer.timephrase.parse import MAX_PHRASE_LENGTH
from snoozer.timephrase.recurrence import Recurrence, next_occurrence
from snoozer.timephrase.zones import canonical, wall_time
from snoozer.translations import gettext as _

MAX_SUBJECT, MAX_SENDER, MAX_OPTION = 2_000, 320, 200
MAX_SENDS = 1_000
# The phrases of the grammar stay far below these limits.
MAX_INTERVAL, MAX_TIMES, MAX_YEARS = 1_000, 5_000, 11
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
_YEAR, _MONTH = timedelta(days=366), timedelta(days=30.4)
# A case of another instance must not become a case for the operators of this one.
_STATES = {"waiting": "waiting", "paused": "paused", "sent": "sent", "cancelled": "cancelled", "retired": "cancelled"}


class RowRefused(ValueError):
    """A row that is left out; the text goes on after "because"."""


@dataclass(kw_only=True)
class ImportRow:
    """A snooze of the file, or why it is left out. Times are ISO 8601, as the database reads them; `sends` maps each
    kept promise to the time of its send, and `options` has the columns that people choose."""

    line: int
    reason: str | None = None
    state: str | None = None
    message_id: str | None = None
    subject: str | None = None
    sender_email: str | None = None
    note: str | None = None
    promised: str | None = None
    recurrence: dict[str, Any] | None = None
    wall_time: str | None = None
    zone: str | None = None
    time_kind: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    made_at: str | None = None
    finished_at: str | None = None
    sends: dict[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> dict[str, Any]:
        """The values by the names of their columns."""
        return asdict(self) | {"sends": list(self.sends.items())}


@dataclass
class StepBudget:
    """How many dates of repetitions may still be counted, for all rows of a file."""

    left: int

    def spend(self) -> None:
        """Count one. Raises RowRefused."""
        if self.left <= 0:
            raise _uncountable()
        self.left -= 1


def read_row(line: int, values: dict[str, Any], *, now: datetime, keep_months: int, steps: StepBudget) -> ImportRow:
    """The row of a record or of a table's line. Raises RowRefused."""
    state = _STATES.get(str(values.get("state")))
    if state is None:
        raise RowRefused(_("its state is none that an export has"))
    promised = _time(values, "promised", until=now + timedelta(days=3653))
    made_at = _time(values, "created_at", until=now)
    zone = _zone(values.get("zone"))
    recurrence = read_recurrence(values.get("recurrence"), zone=zone, now=now)
    if recurrence is not None and state == "waiting" and promised <= now:
        promised = _next(recurrence, zone=zone or "UTC", now=now, steps=steps) or promised
    kind = _one_of(values.get("time_kind"), ("wall", "elapsed")) if zone else None
    row = ImportRow(
        line=line,
        state=state,
        message_id=read_message_id(values.get("message_id")),
        subject=read_text(values.get("subject"), most=MAX_SUBJECT),
        sender_email=read_text(values.get("sender_email"), most=MAX_SENDER),
        note=_note(values.get("note")),
        promised=promised.isoformat(),
        recurrence=None if recurrence is None else recurrence.as_json(),
        wall_time=wall_time(promised, zone).isoformat() if kind and zone else None,
        zone=zone,
        time_kind=kind,
        options={name: _option(values.get(name), kind) for name, kind in EXPORTED.items()},
        made_at=made_at.isoformat(),
    )
    if state in {"sent", "cancelled"}:
        finished = min(_time(values, "finished_at", until=now + _YEAR), now)
        if finished < now - keep_months * _MONTH:
            raise RowRefused(
                _("it was over more than %(months)s months ago, and no longer is kept here", months=keep_months)
            )
        row.finished_at = finished.isoformat()
        if state == "sent":
            row.sends[promised.isoformat()] = row.finished_at
    return row


def read_send(record: dict[str, Any], *, now: datetime) -> dict[str, str]:
    """The time of a sent reminder, by its promise; empty for anything else."""
    if record.get("state") != "sent" or record.get("channel") != "email":
        return {}
    try:
        promised, sent = _time(record, "promised", until=now), _time(record, "sent_at", until=now)
    except RowRefused:
        return {}
    return {promised.isoformat(): sent.isoformat()}


def _time(values: dict[str, Any], name: str, *, until: datetime) -> datetime:
    value = values.get(name)
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) and len(value) < 50 else None
        at = None if at is None or at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        at = None
    if at is None:
        raise RowRefused(_("its %(name)s is no time with an offset, such as 2027-03-01T09:00:00+01:00", name=name))
    if not _EARLIEST <= at <= until:
        raise RowRefused(_("its %(name)s lies too far away", name=name))
    return at


def read_message_id(value: Any) -> str:
    """The id by which a snooze knows its message. Raises RowRefused."""
    text = value if isinstance(value, str) else ""
    octets = len(text.encode("utf-8", "surrogatepass"))
    if not text.strip() or octets > MAX_MESSAGE_ID_OCTETS or "\x00" in text or not _is_text(text):
        raise RowRefused(_("its message_id is no text of 1 to %(most)s octets", most=MAX_MESSAGE_ID_OCTETS))
    return text


def _note(value: Any) -> str | None:
    text = read_text(value, most=MAX_NOTE_LENGTH + 1)
    if text is not None and len(text) > MAX_NOTE_LENGTH:
        raise RowRefused(_("its note is longer than %(most)s characters", most=MAX_NOTE_LENGTH))
    return text


def read_preset(record: dict[str, Any]) -> list[str] | None:
    """Its label and its phrase; None if either is not a text."""
    label, phrase = (read_text(record.get(name), most=MAX_PHRASE_LENGTH) for name in ("label", "phrase"))
    return None if label is None or phrase is None else [label, phrase]


def read_text(value: Any, *, most: int) -> str | None:
    """A text in the form that the database stores, truncated to `most` characters; None for anything else."""
    if not isinstance(value, str) or not value.strip():
        return None
    return value[:most].replace("\x00", "").encode("utf-8", "replace").decode()


def _is_text(text: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in text)


def _zone(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) < 100 and canonical(value) == value else None


def _one_of(value: Any, names: tuple[str, ...]) -> str | None:
    return value if isinstance(value, str) and value in names else None


def _option(value: Any, kind: Any) -> Any:
    """The value of a column that people choose, of this type; None, or False, for anything else."""
    if kind is bool:
        return value in (True, "True")
    choices = get_args(get_args(kind)[0])
    return _one_of(value, choices) if choices else read_text(value, most=MAX_OPTION)


def read_recurrence(value: Any, *, zone: str | None, now: datetime) -> Recurrence | None:
    """The recurrence, within limits that keep the calculation of its dates fast. Raises RowRefused."""
    if value is None:
        return None
    refused = RowRefused(_("its repetition cannot be read"))
    if not isinstance(value, dict) or len(value) > 20 or zone is None:
        raise refused
    if any(isinstance(value.get(name), list) and len(value[name]) > 7 for name in ("weekdays", "rest")):
        raise refused
    try:
        recurrence = Recurrence.from_json(value)
    except (ValueError, OverflowError, RecursionError):
        raise refused from None
    if recurrence.interval > MAX_INTERVAL or (recurrence.times or 0) > MAX_TIMES:
        raise _uncountable()
    if abs(recurrence.start.year - now.year) > MAX_YEARS:
        raise RowRefused(_("its repetition begins more than %(years)s years away", years=MAX_YEARS))
    if len(set(recurrence.weekdays)) < len(recurrence.weekdays):
        raise refused
    return recurrence


def _uncountable() -> RowRefused:
    return RowRefused(_("its repetition is beyond what can be counted with"))


def _next(recurrence: Recurrence, *, zone: str, now: datetime, steps: StepBudget) -> datetime | None:
    following = next_occurrence(recurrence, after=now, zone=zone, on_step=steps.spend)
    return None if following is None or following > now + 10 * _YEAR else following.astimezone(UTC)
