"""Time phrases: one grammar for the form, the API, the command line, addresses and replies.

`parse` takes a phrase, the present moment, a zone, a locale and working hours, and returns a ParsedTime or raises
ParseError; it never guesses. `presets` are phrases of the same grammar. `next_reminder_after` is for recurrences.
"""

from snoozer.timephrase.context import WorkingHours
from snoozer.timephrase.parse import parse, parse_end
from snoozer.timephrase.presets import Preset, presets
from snoozer.timephrase.recurrence import Recurrence, next_occurrence, next_reminder_after
from snoozer.timephrase.result import ParsedTime, ParseError
