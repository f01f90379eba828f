"""When something comes by the shape of its person's day, in words."""

from datetime import datetime
from typing import Any

from snoozer.timephrase.day_shape import Arrival
from snoozer.translations import N_
from snoozer.translations import gettext as _
from snoozer.web.text.time_format import TimeFormatter

# By the reason of a rest.
REST_ENDS = {
    "quiet": N_("at the end of your quiet hours"),
    "day off": N_("after your days off"),
    "vacation": N_("when you are back from your vacation"),
}
_RESTS = {
    "quiet": N_("in your quiet hours"),
    "day off": N_("on a day off"),
    "vacation": N_("in your vacation"),
}
_SOME_REST = N_("in a rest")


def arrival_of(row: Any, times: TimeFormatter) -> Arrival:
    """Returns when a row of `queries.snoozes` comes that was not sent yet."""
    if row.deferred_until is not None and row.deferred_until > row.promise:
        return Arrival(at=row.deferred_until, reason=row.deferred_by)
    return Arrival(at=row.promise) if row.at_any_hour else times.arrival(row.promise)


def arrival_text(promise: datetime, arrival: Arrival, times: TimeFormatter) -> str:
    """Returns "You asked for Monday 22:30, which is in your quiet hours. It comes Tuesday 07:00." as one text."""
    rest = _RESTS.get(arrival.reason or "", _SOME_REST)
    return _(
        "You asked for %(asked)s, which is %(rest)s. It comes %(when)s.",
        asked=times.inline(promise),
        rest=_(rest),
        when=times.inline(arrival.at),
    )


def rest_text(reason: str) -> str:
    """Returns the rest in which a time lies: "in your quiet hours"."""
    return _(_RESTS[reason])
