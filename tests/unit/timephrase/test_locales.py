"""A language is data: whoever adds one has to fill in what the others have, and its own phrases must be readable."""

from datetime import UTC, datetime

import pytest

from snoozer.timephrase import ParseError, read
from snoozer.timephrase.locale_data import WordList
from snoozer.timephrase.locale_en import ENGLISH
from snoozer.timephrase.locales import LANGUAGES

MONDAY_MORNING = datetime(2026, 3, 2, 9, tzinfo=UTC)
WHOLE: dict[str, set[int | str]] = {
    "weekday": set(range(7)),
    "each_weekday": set(range(7)),
    "month": set(range(1, 13)),
    "part": {"morning", "afternoon", "evening", "night"},
    "unit": {"second", "minute", "hour", "day", "week", "month", "year"},
    "period": {"week", "month", "quarter", "year"},
    "rhythm": {"1 day", "1 week", "1 month", "3 month", "1 year"},
}

languages = pytest.mark.parametrize(
    "data", [language.data for language in LANGUAGES.values()], ids=lambda data: data.name
)


@languages
def test_every_language_has_what_the_grammar_asks_for(data: WordList) -> None:
    assert data.default_region in data.regions
    assert data.hints.keys() >= ENGLISH.hints.keys()
    for role, values in WHOLE.items():
        assert values <= set(data.words[role]), role


@languages
def test_what_a_language_offers_it_can_read(data: WordList) -> None:
    places = {"number": 3, "month": "april", "weekday": "montag" if data.name == "de" else "monday"}
    nth = next(iter(str(words).split(",")[0] for words in data.words["ordinal"].values()))
    offered = [*data.starters, *(phrase for _, phrase in data.presets)]
    offered += [hint for name, hints in data.hints.items() if name != "or" for hint in hints]
    for phrase in offered:
        read(phrase.format(**places, nth=nth), now=MONDAY_MORNING, zone="Europe/Berlin", locale=data.name)


@languages
def test_no_word_of_a_list_raises_anything_but_a_refusal(data: WordList) -> None:
    for word in LANGUAGES[data.name].words:
        try:
            read(word, now=MONDAY_MORNING, zone="Europe/Berlin", locale=data.name)
        except ParseError as refused:
            assert refused.code in {"unrecognised", "past", "too_soon", "empty"}, word
