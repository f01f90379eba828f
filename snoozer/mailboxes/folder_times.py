"""Reads the names of folders below `Snooze` and of usual times, for the process of mailboxes and for the pages."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from snoozer.db.models import Account
from snoozer.db.queries import accounts
from snoozer.mailboxes.imap import folder_meanings
from snoozer.mailboxes.imap.folder_meanings import ROOT, Folder
from snoozer.snoozes import chosen_shape, input
from snoozer.snoozes.day_shapes import NO_SHAPE
from snoozer.snoozes.input import SnoozeError
from snoozer.timephrase.day_shape import DayShape
from snoozer.timephrase.locales import Locale, normalize
from snoozer.timephrase.result import ParsedTime

# Default time for messages moved into the Snoozed folder by hand.
BY_HAND = "tomorrow"


class PersonalTimes(NamedTuple):
    """The settings by which this person's phrases are read."""

    zone: str
    locale: str
    presets: tuple[tuple[str, str], ...]
    shape: DayShape = NO_SHAPE

    def own(self) -> DayShape:
        """The shape of the person's days."""
        return self.shape


def personal_times(connection: Connection, *, account_id: int) -> PersonalTimes:
    """The person's current zone, locale, presets, and the shape of their days."""
    account = connection.execute(select(Account.zone, Account.locale).where(Account.id == account_id)).one()
    own = accounts.saved_times(connection, account_id=account_id).presets
    shape = chosen_shape.find(connection, account_id=account_id) or NO_SHAPE
    return PersonalTimes(account.zone, account.locale, own or usual_times(account.locale), shape)


def usual_times(locale: str) -> tuple[tuple[str, str], ...]:
    """The labels and phrases of a person who chose none."""
    return Locale.named(locale).language.data.presets


def named(name: str) -> Folder:
    """The folder with this name, on a server that separates levels by "/"; `Snooze/` in front may be left out."""
    levels = tuple(name.strip().strip("/").split("/"))
    if not folder_meanings.same_meaning(levels[0], ROOT):
        levels = (ROOT, *levels)
    return Folder(name, levels, "/")


def read_folder(folder: Folder, times: PersonalTimes, *, now: datetime) -> ParsedTime:
    """The time that a folder's name means: the time of the preset with this name, or the result of the grammar. Raises
    SnoozeError."""
    phrases = folder_meanings.phrases(folder)
    named = {normalize(_as_folder(label, folder)): phrase for label, phrase in times.presets}
    for phrase in phrases:
        if normalize(phrase) in named:
            return _first_reading((named[normalize(phrase)], phrase), times, now=now)
    return _first_reading(phrases, times, now=now)


def _as_folder(label: str, folder: Folder) -> str:
    """The label in the spelling of a folder's name: without letters that some servers refuse."""
    return folder_meanings.label_as_name(label, delimiter=folder.delimiter) or label


def read_label(label: str, times: PersonalTimes, *, now: datetime) -> ParsedTime:
    """The time of a preset with this name, or the result of the grammar; tomorrow if neither accepts the label any
    more.
    """
    return _first_reading((phrase_of(label, times), *_fallbacks(times)), times, now=now)


def read_by_hand(times: PersonalTimes, *, now: datetime) -> ParsedTime:
    """The time of a message that was moved into the folder of snoozed messages, without a time: tomorrow."""
    return _first_reading(_fallbacks(times), times, now=now)


def _fallbacks(times: PersonalTimes) -> tuple[str, ...]:
    return (BY_HAND, *(phrase for _, phrase in times.presets))


def phrase_of(label: str, times: PersonalTimes) -> str:
    """The phrase of the preset with this name, or the label itself."""
    return {normalize(name): phrase for name, phrase in times.presets}.get(normalize(label), label)


def _first_reading(phrases: Sequence[str], times: PersonalTimes, *, now: datetime) -> ParsedTime:
    first: SnoozeError | None = None
    for phrase in phrases:
        try:
            return input.parse_phrase(phrase, now=now, zone=times.zone, locale=times.locale, own=times.own)
        except SnoozeError as error:
            first = first or error
    raise first or SnoozeError("empty", "The folder has no name that is a time.")
