"""From a locale such as `de_AT` to the words, the order of day and month, and the clock that a person uses."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from snoozer.domain.times.de import GERMAN
from snoozer.domain.times.en import ENGLISH
from snoozer.domain.times.wordlist import Region, WordList

Value = int | str
Entry = tuple[tuple[str, ...], Value]

_SPELLINGS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "’": "'", "−": "-"})
_LOCALE = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{2}))?(?:[-_.@].*)?", re.ASCII | re.IGNORECASE | re.DOTALL)


def fold(text: str) -> str:
    """The text as words are compared: lower case, single spaces, umlauts spelt out, without the marks that nobody
    sees. Digits of other scripts stay."""
    seen = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return " ".join(unicodedata.normalize("NFC", seen).lower().translate(_SPELLINGS).split())


@dataclass(frozen=True, eq=False)
class Language:
    """A word list, indexed for the parser.

    `roles`: role in the grammar → first word → its entries, the longest phrase first. `words`: every single word
    that occurs, alone or in a phrase. `spellings`: a word as it is compared → as the list spells it, where they differ.
    """

    data: WordList
    roles: Mapping[str, Mapping[str, tuple[Entry, ...]]]
    words: frozenset[str]
    spellings: Mapping[str, str]

    @classmethod
    def of(cls, data: WordList) -> "Language":
        roles = {role: _by_first_word(values) for role, values in data.words.items()}
        entries = (entry for by_first in roles.values() for same_first in by_first.values() for entry in same_first)
        listed = (word for values in data.words.values() for phrases in values.values() for word in _words_of(phrases))
        spellings = {fold(word): word for word in listed if fold(word) != word}
        return cls(data, roles, frozenset(word for words, _ in entries for word in words), spellings)


def _words_of(phrases: str) -> list[str]:
    return phrases.replace(",", " ").split()


def _by_first_word(values: Mapping[int, str] | Mapping[str, str]) -> Mapping[str, tuple[Entry, ...]]:
    by_first: dict[str, list[Entry]] = {}
    for value, phrases in values.items():
        for phrase in phrases.split(","):
            words = tuple(fold(phrase).split())
            by_first.setdefault(words[0], []).append((words, value))
    return {first: tuple(sorted(entries, key=lambda entry: -len(entry[0]))) for first, entries in by_first.items()}


LANGUAGES = {data.name: Language.of(data) for data in (ENGLISH, GERMAN)}
_ENGLISH = LANGUAGES["en"]


@dataclass(frozen=True)
class Locale:
    """What a person writes: the language first, then English, which everybody may use."""

    language: Language
    region: Region

    @property
    def languages(self) -> tuple[Language, ...]:
        return (self.language,) if self.language is _ENGLISH else (self.language, _ENGLISH)

    @classmethod
    def named(cls, name: str) -> "Locale":
        """The locale of that name. An unknown region takes its language's usual one; a language without a word
        list is read as English with the day before the month and a 24-hour clock, as most of the world writes."""
        match = _LOCALE.fullmatch(name)
        language = LANGUAGES.get(match[1].lower()) if match else None
        if match is None:
            return cls(_ENGLISH, ENGLISH.regions[ENGLISH.default_region])
        if language is None:
            return cls(_ENGLISH, Region(month_first=False, twelve_hour=False))
        data = language.data
        return cls(language, data.regions.get((match[2] or "").upper()) or data.regions[data.default_region])
