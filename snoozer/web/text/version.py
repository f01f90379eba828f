"""The version of a snooze: the values that people set. A form holds the version that its page shows, and the API's ETag
contains it. It does not change if workers claim the snooze, try it, or defer it."""

import hashlib
import json
from datetime import MAXYEAR, MINYEAR, UTC
from textwrap import shorten
from typing import Any
from urllib.parse import parse_qsl, urlencode

from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.zones import zone_in_words
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web.text.phrase_text import lower_first, recurrence_text
from snoozer.web.text.reply_text import reply_text
from snoozer.web.text.time_format import TimeFormatter, parse_instant

CHANGED_MEANWHILE = "changed_meanwhile"
MAX_NOTE = 80

_STATES = {
    "": N_("it is active again"),
    "paused": N_("it is paused"),
    "sent": N_("it came back"),
    "cancelled": N_("it is over"),
    "retired": N_("its reminder could not be delivered"),
}


def version_of(row: Any) -> str:
    """The version of a row of `queries.snoozes` or `queries.api_snoozes`."""
    return urlencode(_values(row))


def check_version(shown: str, row: Any, times: TimeFormatter) -> None:
    """Raise SnoozeError that names people's changes since the version that a form shows. Without a version, no
    comparison is made. `row` must be locked."""
    # The form's owner may have edited it: it decides nothing but this sentence and whether they read it.
    before = dict(parse_qsl(shown, keep_blank_values=True))
    changed = {name for name, value in _values(row).items() if before.get(name, value) != value}
    if clauses := "; ".join(_clauses(changed, before, row, times)):
        sentence = _("It was changed meanwhile: %(changes)s. What you typed is not saved yet.", changes=clauses)
        raise SnoozeError(CHANGED_MEANWHILE, sentence)


def _values(row: Any) -> dict[str, str]:
    is_paused = row.state == "paused" and row.why != "operator_pause"
    policy = row.reply_policy or "keep"
    # The start moves on if one occurrence is moved, while its words stay the same.
    series = {name: value for name, value in (row.recurrence or {}).items() if name != "start"}
    return {
        "promise": row.promise.astimezone(UTC).isoformat(),
        "note": _digest(row.note or ""),
        "recurrence": _digest(series),
        "zone": row.zone or "",
        "state": "paused" if is_paused else row.outcome or "",
        "reply": policy if policy == "keep" else f"{policy} {row.reply_scope or 'message'}",
        "at_any_hour": str(row.at_any_hour),
    }


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]


def _clauses(changed: set[str], before: dict[str, str], row: Any, times: TimeFormatter) -> list[str]:
    found, state = [], _values(row)["state"]
    if "state" in changed:
        found.append(_(_STATES[state]))
        if row.outcome is not None:
            return found
    if "promise" in changed:
        was, now = parse_instant(before["promise"]), times.inline(row.promise)
        is_shown = was is not None and MINYEAR < was.year < MAXYEAR
        earlier = " " + _("(it was %(when)s)", when=times.inline(was)) if was and is_shown else ""
        found.append(_("its time is now %(when)s", when=now) + earlier)
    elif "zone" in changed and row.zone:
        found.append(_("it follows the clock of %(zone)s now", zone=zone_in_words(row.zone)))
    if "note" in changed:
        note = shorten(row.note or "", MAX_NOTE, placeholder=" …")
        found.append(_("its note is now “%(note)s”", note=note) if note else _("it has no note any more"))
    if "recurrence" in changed:
        repeats = lower_first(recurrence_text(row.recurrence, times)) if row.recurrence else ""
        found.append(_("it repeats now: %(repeats)s", repeats=repeats) if repeats else _("it does not repeat any more"))
    if "at_any_hour" in changed:
        found.append(_("it comes at any hour now") if row.at_any_hour else _("it does not come at any hour any more"))
    if "reply" in changed and (reply := reply_text(row, (), times=times)):
        found.append(_("if a reply comes: %(what)s", what=lower_first(reply).removesuffix(".")))
    return found
