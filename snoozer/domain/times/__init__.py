"""Times that people type: one grammar for the form, the API, the command line, addresses and replies.

`read` takes a phrase and a vantage (now, zone, locale, habits) and gives a Reading, or raises Refused; it never
guesses. `presets` are phrases of the same grammar. `promise_after` re-arms what repeats.
"""

from snoozer.domain.times.answer import read
from snoozer.domain.times.presets import Preset, presets
from snoozer.domain.times.reading import Reading, Refused
from snoozer.domain.times.recurrence import Recurrence, next_occurrence, promise_after
from snoozer.domain.times.vantage import Habits

__all__ = [
    "Habits",
    "Preset",
    "Reading",
    "Recurrence",
    "Refused",
    "next_occurrence",
    "presets",
    "promise_after",
    "read",
]
