"""Reads the forms by which operators act on rows: which act, on which rows, why, and as they were when."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from flask import abort, request
from sqlalchemy import Connection

from snoozer.db.queries import cases as queries
from snoozer.db.queries.case_filter import Filter
from snoozer.operations.requests import MAX_MEMBERS
from snoozer.web.admin.act_texts import ACT_TEXTS, ActText
from snoozer.web.admin.selection import selected
from snoozer.web.forms import MAX_ROW_ID, one_line
from snoozer.web.text.redaction import without_addresses
from snoozer.web.text.time_format import parse_instant

MAX_PICKED = 500
MAX_WHY_LENGTH = 500
BATCH_SIZE = 5_000


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The rows that an act is about: those with `ids`, or (None) all cases that match the filter, as of that time."""

    act: str
    ids: Sequence[int] | None
    filter: Filter
    as_of: datetime
    form: UUID

    @property
    def text(self) -> ActText:
        return ACT_TEXTS[self.act]

    @property
    def parameters(self) -> dict[str, object]:
        """Of the operation, beside what its act needs."""
        chosen = "ids" if self.ids is not None else "filter"
        return {"until": self.as_of.isoformat(), "chosen": chosen, "filter": self.filter.as_args()}

    @property
    def fields(self) -> Mapping[str, str]:
        """The hidden fields of the form that confirms a preview, beside the ids."""
        shown = {"act": self.act, "as_of": self.as_of.isoformat(), "form": str(self.form)}
        return shown | ({"all": "1"} if self.ids is None else {}) | self.filter.as_args()

    def batches(self, connection: Connection) -> Iterator[Sequence[int]]:
        """The ids of the rows, at most MAX_MEMBERS."""
        if self.ids is not None:
            yield self.ids
            return
        yield queries.longest_waiting(connection, self.filter, until=self.as_of, limit=MAX_MEMBERS)

    def count(self, connection: Connection) -> tuple[int, int]:
        """How many rows it is about (MAX_MEMBERS + 1 for more), and how many of their reminders may have been sent."""
        return queries.count_for_bulk(connection, self.filter, until=self.as_of, most=MAX_MEMBERS, ids=self.ids)


def read_selection(*, as_of: datetime | None = None) -> Selection:
    """Reads the posted form; 400 for a form that this site did not make. A preview is `as_of` its own time."""
    act = request.form.get("act", "")
    picked = [int(id) for id in request.form.getlist("id") if id.isascii() and id.isdigit() and len(id) < 20]
    if act not in ACT_TEXTS or len(picked) > MAX_PICKED or any(not 0 < id <= MAX_ROW_ID for id in picked):
        abort(400)
    ids = None if request.form.get("all") == "1" else sorted(set(picked))
    when = as_of or parse_instant(request.form.get("as_of", "")) or abort(400)
    form = uuid4() if as_of is not None or not request.form.get("form") else _form()
    return Selection(act=act, ids=ids, filter=selected(request.form).fixed(when), as_of=when, form=form)


def read_why() -> str | None:
    """Returns the reason as one line without addresses; None without one."""
    return one_line(without_addresses(request.form.get("why", "")[:MAX_WHY_LENGTH]), max_length=MAX_WHY_LENGTH)


def _form() -> UUID:
    try:
        return UUID(request.form.get("form", ""))
    except ValueError:
        abort(400)
