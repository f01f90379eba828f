"""Times that people type: one grammar for the form, the API, the command line, addresses and replies.

`read` takes a phrase and a vantage (now, zone, locale, habits) and gives a Reading, or raises Refused; it never
guesses. `presets` are phrases of the same grammar. `promise_after` re-arms what repeats.
"""

from snoozer.timephrase.context import WorkingHours
from snoozer.timephrase.parse import read
from snoozer.timephrase.presets import Preset, presets
from snoozer.timephrase.recurrence import Recurrence, next_occurrence, promise_after
from snoozer.timephrase.result import ParsedTime, ParseError

__all__ = [
    "ParseError",
    "ParsedTime",
    "Preset",
    "Recurrence",
    "WorkingHours",
    "next_occurrence",
    "presets",
    "promise_after",
    "read",
]
