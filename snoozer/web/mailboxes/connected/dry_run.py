"""Reads the name of a folder, or the time of a star, as the process of mailboxes would, and changes nothing."""

from dataclasses import dataclass
from datetime import datetime

from snoozer.mailboxes import folder_times
from snoozer.mailboxes.folder_times import PersonalTimes
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.result import ParsedTime
from snoozer.web.forms import one_line

MAX_NAME_LENGTH = 200


@dataclass(frozen=True, kw_only=True)
class FolderMeaning:
    """The time of a folder's name, or why it has none."""

    name: str
    reading: ParsedTime | None = None
    error: SnoozeError | None = None


@dataclass(frozen=True, kw_only=True)
class FlagMeaning:
    """The time until which a star or keyword snoozes; `is_fallback` if its name is not a time any more."""

    label: str
    reading: ParsedTime
    is_fallback: bool


def of_folder(name: str | None, times: PersonalTimes, *, now: datetime) -> FolderMeaning | None:
    """The meaning of a typed name; None if there is none."""
    name = one_line(name, max_length=MAX_NAME_LENGTH)
    if not name:
        return None
    try:
        return FolderMeaning(name=name, reading=folder_times.read_folder(folder_times.named(name), times, now=now))
    except SnoozeError as error:
        return FolderMeaning(name=name, error=error)


def of_flag(label: str | None, times: PersonalTimes, *, now: datetime) -> FlagMeaning | None:
    """The meaning of the time that was chosen for a star or keyword; None if neither snoozes."""
    if label is None:
        return None
    reading = folder_times.read_label(label, times, now=now)
    is_fallback = reading.phrase != folder_times.phrase_of(label, times)
    return FlagMeaning(label=label, reading=reading, is_fallback=is_fallback)
