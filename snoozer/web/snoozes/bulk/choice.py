"""The selection on a list: rows by their checkboxes, or all that match the list's filters."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from flask import abort, request

from snoozer.queue.limits import MAX_CHOSEN
from snoozer.web.forms import one_line
from snoozer.web.text.time_format import parse_instant

MAX_SEARCH = 200
# After this time, the list has changed too much.
OLDEST_PAGE = timedelta(days=31)
# The fields that define the selection.
_CHOOSING = frozenset({"row", "all", "q", "folder", "as_of", "bound", "page_id"})
# Fields that differ between two submits of one form.
_PASSING = frozenset({"csrf_token", "here"})


@dataclass(frozen=True, kw_only=True)
class Choice:
    """`rows` by the values of their checkboxes; with `everything`, the results of `search`, in `folder` of a mailbox,
    as of the time at which the list was shown, or up to the `bound` of a connected mailbox's list. `id` identifies the
    act, and is the same for a form that is submitted twice."""

    id: UUID
    rows: list[str]
    everything: bool
    search: str | None
    folder: str | None
    as_of: datetime
    bound: str | None
    fields: list[tuple[str, str]]

    @property
    def row_ids(self) -> list[int]:
        """The rows whose values are ids of the database; other values are ignored."""
        numbers = (int(value) for value in self.rows if value.isascii() and value.isdecimal() and len(value) < 19)
        return sorted(set(numbers))


def read_choice(now: datetime) -> Choice | None:
    """The posted selection; None if it is empty. 400 for a form that no list of ours has."""
    posted = request.form
    as_of, everything = parse_instant(posted.get("as_of", "")), posted.get("all") == "1"
    rows = [] if everything else posted.getlist("row")[: MAX_CHOSEN + 1]
    page_id = _uuid(posted.get("page_id", ""))
    if as_of is None or page_id is None or as_of < now - OLDEST_PAGE:
        abort(400)
    if not (everything or rows):
        return None
    values = sorted((name, value) for name, value in posted.items(multi=True) if name not in _PASSING)
    return Choice(
        id=uuid5(page_id, repr((request.path, values))),
        rows=rows,
        everything=everything,
        search=one_line(posted.get("q"), max_length=MAX_SEARCH),
        folder=posted.get("folder") or None,
        as_of=min(as_of, now),
        bound=posted.get("bound") or None,
        fields=[(name, value) for name, value in posted.items(multi=True) if name in _CHOOSING],
    )


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
