"""The effect of a reply on a snooze, as sentences for its owner."""

from collections.abc import Mapping, Sequence
from typing import Any

from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web.text.time_format import TimeFormatter, parse_instant

_POLICIES = {
    "keep": N_("It comes back at its time anyway."),
    "cancel_on_reply": N_("It is cancelled."),
    "until_reply": N_("It comes back at once."),
}
_CANCELLED_ALL = N_("It is cancelled with all that it repeats.")
_THREAD = N_("Replies to other messages of its thread count, too.")
_CAME = {
    "cancelled": N_("Cancelled: a reply came %(at)s."),
    "replied": N_("A reply came %(at)s, so it came back at once."),
}


def reply_text(row: Any, events: Sequence[Any], *, times: TimeFormatter) -> str | None:
    """Returns the effect of a reply on a live snooze of `queries.snoozes`, or that a reply ended it; None if it ended
    otherwise."""
    if row.outcome is None:
        policy = row.reply_policy or "keep"
        cancels_all = policy == "cancel_on_reply" and row.recurrence
        sentence = _(_CANCELLED_ALL if cancels_all else _POLICIES[policy])
        return f"{sentence} {_(_THREAD)}" if policy != "keep" and row.reply_scope == "thread" else sentence
    newest = next((event for event in events if event.kind in ("cancelled", "undone", "edited")), None)
    return came_text(newest.kind, newest.detail, times) if row.outcome == "cancelled" and newest else None


def came_text(kind: str, detail: Mapping[str, Any], times: TimeFormatter) -> str | None:
    """Returns the sentence of an event that a reply caused; None for another event."""
    came = parse_instant(detail.get("came"))
    if detail.get("why") != "reply" or came is None or kind not in _CAME:
        return None
    return _(_CAME[kind], at=times.inline(came))
