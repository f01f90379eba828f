"""Parses the forms by which operators act on rows: which act, on which rows, how, why, and as of when."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from flask import abort, request
from sqlalchemy import Connection

from snoozer.db.queries import cases as queries
from snoozer.db.queries.case_filter import Filter
from snoozer.mail import headers
from snoozer.operators.chunks import MAX_MEMBERS
from snoozer.operators.row_acts import why_left
from snoozer.queue import changes, queue
from snoozer.queue.changes import Chosen
from snoozer.web.auth import time_formatter
from snoozer.web.forms import MAX_ROW_ID
from snoozer.web.operators.act_texts import ACT_TEXTS, ActText
from snoozer.web.operators.case_forms import selected
from snoozer.web.operators.reasons import given_reason
from snoozer.web.text.time_format import parse_instant

MAX_PICKED = 500
# The rows of a filter that wait longest, of which a preview says which will fail again.
MAX_FORECAST = 1_000
MAX_WORKER_LENGTH = 200
MAX_MORE_ATTEMPTS = 100
MAX_DELAY = timedelta(days=366)
UNITS = {"minutes": 60, "hours": 3_600, "days": 86_400}
_UNCERTAIN = {"uncertain", "sending"}


class Refused(ValueError):
    """A field of the form cannot be used; the sentence says which and why."""


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many rows an act affects (MAX_MEMBERS + 1 for more), how many of their reminders may have been sent, how
    many chosen rows it cannot change, and how many will fail again, since their address is invalid."""

    rows: int
    uncertain: int
    impossible: int = 0
    hopeless: int = 0


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The rows of an act: those with `ids`, the claims of `worker`, or all cases that match the filter, as of that
    time."""

    act: str
    ids: Sequence[int] | None
    worker: str | None
    filter: Filter
    as_of: datetime
    form: UUID

    @property
    def text(self) -> ActText:
        return ACT_TEXTS[self.act]

    @property
    def parameters(self) -> dict[str, object]:
        """The operation's parameters, in addition to the act's own."""
        chosen = "ids" if self.ids is not None else "worker" if self.worker else "filter"
        about = {"filter": self.filter.as_args(), "worker": self.worker}
        return {"until": self.as_of.isoformat(), "chosen": chosen, **about}

    @property
    def fields(self) -> Mapping[str, str]:
        """The hidden fields of the form that confirms a preview, in addition to the ids."""
        shown = {"act": self.act, "as_of": self.as_of.isoformat(), "form": str(self.form)}
        chosen = {"worker": self.worker or "", "all": "" if self.ids is not None else "1"}
        return shown | {name: value for name, value in chosen.items() if value} | self.filter.as_args()

    def batches(self, connection: Connection) -> Iterator[Sequence[int]]:
        """The ids of the rows, at most MAX_MEMBERS."""
        if self.ids is not None:
            yield self.ids
        elif self.worker is not None:
            yield [id for id, _ in queue.claimed_by(connection, worker=self.worker)]
        else:
            yield queries.longest_waiting(connection, self.filter, until=self.as_of, limit=MAX_MEMBERS)

    def count(self, connection: Connection) -> Count:
        """The current counts for a preview."""
        if self.ids is None and self.worker is None:
            rows, uncertain = queries.count_for_bulk(connection, self.filter, until=self.as_of, most=MAX_MEMBERS)
            ids = queries.longest_waiting(connection, self.filter, until=self.as_of, limit=MAX_FORECAST)
            return Count(rows=rows, uncertain=uncertain, hopeless=self._hopeless(changes.chosen(connection, ids=ids)))
        ids = [id for batch in self.batches(connection) for id in batch]
        found = [row for row in changes.chosen(connection, ids=ids) if why_left(self.act, row, self.as_of) is None]
        uncertain = sum(row.send_state in _UNCERTAIN for row in found)
        impossible = len(ids) - len(found)
        return Count(rows=len(found), uncertain=uncertain, impossible=impossible, hopeless=self._hopeless(found))

    def _hopeless(self, rows: Iterable[Chosen]) -> int:
        if self.act not in {"reactivate", "delay", "resolve_resend"}:
            return 0
        return sum(headers.address(row.user_email) is None for row in rows)


def read_selection(*, as_of: datetime | None = None) -> Selection:
    """Parses the posted form; 400 for a form that this site did not make. A preview has its own time as `as_of`."""
    act = request.form.get("act", "")
    picked = [int(id) for id in request.form.getlist("id") if id.isascii() and id.isdigit() and len(id) < 20]
    if act not in ACT_TEXTS or len(picked) > MAX_PICKED or any(not 0 < id <= MAX_ROW_ID for id in picked):
        abort(400)
    worker = _worker() if act == "release" else None
    ids = None if worker is not None or request.form.get("all") == "1" else sorted(set(picked))
    if act == "release" and ids is None and worker is None:
        abort(400)
    when = as_of or parse_instant(request.form.get("as_of", "")) or abort(400)
    form = uuid4() if as_of is not None or not request.form.get("form") else _form()
    chosen = selected(request.form).fixed(when)
    return Selection(act=act, ids=ids, worker=worker, filter=chosen, as_of=when, form=form)


def read_parameters(act: str) -> dict[str, object]:
    """Parses the act's parameters. Raises Refused."""
    if act == "delay":
        return _delay()
    if act == "raise_attempts":
        return {"more_attempts": _number("more_attempts", most=MAX_MORE_ATTEMPTS, what="How many more attempts")}
    if act == "release":
        return {"of_the_living": request.form.get("of_the_living") == "1"}
    return {}


def read_why() -> str:
    """Returns the reason as one line without addresses. Raises Refused."""
    why = given_reason()
    if why is None:
        raise Refused("Say why in a few words.")
    return why


def _delay() -> dict[str, object]:
    if request.form.get("delay_how") == "until":
        times = time_formatter()
        try:
            wall = datetime.fromisoformat(request.form.get("delay_until", ""))
        except ValueError:
            raise Refused("Say until when, as a day and an hour.") from None
        until = wall.replace(tzinfo=times.local(times.now).tzinfo) if wall.tzinfo is None else wall
        if not times.now < until <= times.now + MAX_DELAY:
            raise Refused("Say a time to come, within a year.")
        return {"delay_until": until.isoformat()}
    unit = request.form.get("delay_unit", "")
    if unit not in UNITS:
        raise Refused("Say minutes, hours or days.")
    amount = _number("delay_amount", most=int(MAX_DELAY.total_seconds()) // UNITS[unit], what=f"How many {unit}")
    return {"delay_seconds": amount * UNITS[unit]}


def _number(name: str, *, most: int, what: str) -> int:
    text = request.form.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= most):
        raise Refused(f"{what}? Say a number from 1 to {most:,}.")
    return int(text)


def _worker() -> str | None:
    """Workers' ids consist of host names and numbers."""
    worker = request.form.get("worker", "")
    if len(worker) > MAX_WORKER_LENGTH or not worker.isprintable():
        abort(400)
    return worker or None


def _form() -> UUID:
    try:
        return UUID(request.form.get("form", ""))
    except ValueError:
        abort(400)
