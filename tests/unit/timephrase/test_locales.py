"""A language is data: each has the roles that the grammar needs, and its own suggestions parse."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from snoozer.timephrase import locales
from snoozer.timephrase.locales import LANGUAGES, WordList
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParseError

WORD_FILES = Path(locales.__file__).parent / "words"
MONDAY_MORNING = datetime(2026, 3, 2, 9, tzinfo=UTC)
REQUIRED: dict[str, set[str]] = {
    "weekday": set("0123456"),
    "each_weekday": set("0123456"),
    "month": {str(month) for month in range(1, 13)},
    "part": {"morning", "afternoon", "evening", "night"},
    "unit": {"second", "minute", "hour", "day", "week", "month", "year"},
    "period": {"week", "month", "quarter", "year"},
    "frequency": {"1 day", "1 week", "1 month", "3 month", "1 year"},
}

languages = pytest.mark.parametrize(
    "data", [language.data for language in LANGUAGES.values()], ids=lambda data: data.name
)


@languages
def test_every_language_has_the_roles_of_the_grammar(data: WordList) -> None:
    assert data.default_region in data.regions
    assert data.hints.keys() >= LANGUAGES["en"].data.hints.keys()
    for role, values in REQUIRED.items():
        assert values <= set(data.words[role]), role


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


@pytest.mark.parametrize("path", sorted(WORD_FILES.glob("*.json")), ids=lambda path: path.name)
def test_no_key_of_a_word_list_is_lost_to_a_second_one(path: Path) -> None:
    assert json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_duplicates)


@languages
def test_presets_and_suggestions_of_a_language_parse(data: WordList) -> None:
    weekday = "montag" if data.name == "de" else "monday"
    places = {"number": 3, "month": "april", "hours": 1, "minutes": 30, "weekday": weekday}
    nth = next(iter(words[0] for words in data.words["ordinal"].values()))
    offered = [*data.default_suggestions, *(phrase for _, phrase in data.presets)]
    offered += [hint for name, hints in data.hints.items() if name != "or" for hint in hints]
    for phrase in offered:
        parse(phrase.format(**places, nth=nth), now=MONDAY_MORNING, zone="Europe/Berlin", locale=data.name)


@languages
def test_a_single_word_raises_nothing_but_a_parse_error(data: WordList) -> None:
    for word in LANGUAGES[data.name].words:
        try:
            parse(word, now=MONDAY_MORNING, zone="Europe/Berlin", locale=data.name)
        except ParseError as error:
            assert error.code in {"unrecognised", "past", "too_soon", "empty"}, word
