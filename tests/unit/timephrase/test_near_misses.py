"""A misspelt phrase is never read; the first suggestion is what was probably meant, clear and in full."""

from collections.abc import Callable
from random import Random

import pytest

from snoozer.timephrase.result import ParsedTime, ParseError

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]
DESKS = {"en": {"locale": "en_US"}, "de": {"zone": "Europe/Berlin", "locale": "de_DE"}}

ENGLISH = """
tomrrow 9              | tomorrow 9:00 am
tomrrow 3              | tomorrow 3:00 pm
tmorow evening         | tomorrow evening
tomorrow @ 9           | tomorrow 9:00 am
wensday                | wednesday
teusday at 3           | tuesday at 3:00 pm
frday 6pm              | friday 6pm
febuary 3              | february 3
nxt week               | next week
next moth              | next month
nex friday             | next friday
in 10 mintues          | in 10 minutes
in 2 huors             | in 2 hours
evry day at 9          | every day at 9:00 am
every mondya           | every monday
3 days if no rply      | 3 days if no reply
24 dec 9               | 24 dec 9:00 am
"""

GERMAN = """
morgne 9               | morgen 9:00
morgne 3               | morgen 15:00
freitga um 9           | freitag um 9:00
nächse woche           | nächste woche
in 3 tgaen             | in 3 tagen
heute aben             | heute abend
jeden montga           | jeden montag
"""


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split("|")] for row in table.strip().splitlines()]


@pytest.mark.parametrize(("phrase", "meant"), _rows(ENGLISH))
def test_the_first_suggestion_for_a_typo_is_what_was_meant(error_of: ErrorOf, phrase: str, meant: str) -> None:
    assert error_of(phrase).suggestions[0] == meant


@pytest.mark.parametrize(("phrase", "meant"), _rows(GERMAN))
def test_the_first_suggestion_for_a_german_typo_is_what_was_meant(error_of: ErrorOf, phrase: str, meant: str) -> None:
    assert error_of(phrase, **DESKS["de"]).suggestions[0] == meant


@pytest.mark.parametrize(
    ("phrase", "desk"),
    [
        *((phrase, "en") for phrase in ("tomorrow 9am", "friday 18:30", "in 2 weeks", "next month", "every day 9:00")),
        *((phrase, "en") for phrase in ("wednesday evening", "3 days if no reply", "february 3", "tonight at 9:00")),
        *(
            (phrase, "de")
            for phrase in ("morgen 9 uhr", "freitag 18:30", "in 2 wochen", "nächsten monat", "3. februar")
        ),
        *((phrase, "de") for phrase in ("mittwoch abend", "jeden tag um 9:00", "3 tage falls keine antwort")),
    ],
)
def test_two_letters_exchanged_are_read_as_meant_or_asked_back(typed: Typed, phrase: str, desk: str) -> None:
    """No typo is read as another time, and no suggestion repeats another."""
    meant, random = typed(phrase, **DESKS[desk]).at, Random(phrase)
    offered = tried = 0
    for _ in range(12):
        at = random.randrange(len(phrase) - 1)
        first, second = phrase[at], phrase[at + 1]
        if not (first + second).isalpha() or first == second:
            continue
        typo = phrase[:at] + second + first + phrase[at + 2 :]
        tried += 1
        try:
            assert typed(typo, **DESKS[desk]).at == meant, typo
            offered += 1
        except ParseError as error:
            meanings = [typed(suggestion, **DESKS[desk]) for suggestion in error.suggestions]
            assert len({one.lower() for one in error.suggestions}) == len(error.suggestions), typo
            offered += meant in [found.at for found in meanings]
    assert offered * 2 >= tried


@pytest.mark.parametrize(("phrase", "desk"), [("morgen abnd", "de"), ("später heut", "de"), ("24 dec 9", "en")])
def test_suggestions_do_not_repeat(error_of: ErrorOf, phrase: str, desk: str) -> None:
    suggestions = [one.lower() for one in error_of(phrase, **DESKS[desk]).suggestions]
    assert len(set(suggestions)) == len(suggestions) == 3


@pytest.mark.parametrize("phrase", ["5pm tonight", "tomrrow 9am", "nex friday", "in 1h75", "on 15 9"])
def test_no_suggestion_is_a_part_with_another_meaning(error_of: ErrorOf, phrase: str) -> None:
    dropped = {"5:00 tonight", "9am", "friday", "in 1:75", "on 15"}
    assert not dropped & set(error_of(phrase).suggestions)
