"""German as people type it, from a desk in Berlin on Thursday 5 March 2026, 10:20."""

from collections.abc import Callable

import pytest

from snoozer.timephrase.result import ParsedTime, ParseError

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]
DESK = {"zone": "Europe/Berlin", "locale": "de_DE"}

ONCE = """
morgen                          | 2026-03-06T08:00
morgen früh                     | 2026-03-06T08:00
übermorgen                      | 2026-03-07T08:00
uebermorgen                     | 2026-03-07T08:00
u\u0308bermorgen                 | 2026-03-07T08:00
nächsten Montag um 9 Uhr        | 2026-03-09T09:00
in zwei Wochen                  | 2026-03-19T10:20
in einer halben Stunde          | 2026-03-05T10:50
1,5 Stunden                     | 2026-03-05T11:50
2stunden                        | 2026-03-05T12:20
24std                           | 2026-03-06T10:20
1stunde30minuten                | 2026-03-05T11:50
march 20th                      | 2026-03-20T08:00
anderthalb Stunden              | 2026-03-05T11:50
17:30 morgen                    | 2026-03-06T17:30
9 Uhr morgen                    | 2026-03-06T09:00
9 Uhr morgens                   | 2026-03-06T09:00
Montag Morgen um 9              | 2026-03-09T09:00
heute Abend                     | 2026-03-05T18:00
später heute                    | 2026-03-05T13:30
Montag 9 Uhr 30                 | 2026-03-09T09:30
Montagabend                     | 2026-03-09T18:00
abends um 8                     | 2026-03-05T20:00
um 3                            | 2026-03-05T15:00
um 3 Uhr                        | 2026-03-06T03:00
halb neun                       | 2026-03-06T08:30
Viertel nach acht               | 2026-03-06T08:15
9.30                            | 2026-03-06T09:30
morgen um 8.10                  | 2026-03-06T08:10
Freitag um 9.05 Uhr             | 2026-03-06T09:05
15.3.                           | 2026-03-15T08:00
15.03.2027 14:00                | 2027-03-15T14:00
25.12. 2027                     | 2027-12-25T08:00
25.12. 2026 9:00                | 2026-12-25T09:00
25.12. 2026 um 9 Uhr            | 2026-12-25T09:00
Freitag 25.12. 2026             | 2026-12-25T08:00
am 15.                          | 2026-03-15T08:00
15. März 2027 um 14 Uhr         | 2027-03-15T14:00
der erste Montag im April       | 2026-04-06T08:00
Ende nächster Woche             | 2026-03-13T17:00
Monatsende                      | 2026-03-31T17:00
nächste Woche Freitag           | 2026-03-13T08:00
Montag in zwei Wochen           | 2026-03-23T08:00
in 3 Werktagen                  | 2026-03-10T10:20
Freitag, den 13. März           | 2026-03-13T08:00
3 Tage falls keine Antwort      | 2026-03-08T10:20
tomorrow 9am                    | 2026-03-06T09:00
2026-03-20T14:05 if no reply    | 2026-03-20T14:05
20260320T1405 if no reply       | 2026-03-20T14:05
3t12h                           | 2026-03-08T22:20
\u200e\ufeffmorgen\u200b fr\u00adüh\u200f | 2026-03-06T08:00
"""

AGAIN = """
täglich um 9                            | 2026-03-06T09:00
werktags um 9                           | 2026-03-06T09:00
werktags um 9.10                        | 2026-03-06T09:10
jeden Morgen                            | 2026-03-06T08:00
montags                                 | 2026-03-09T08:00
alle zwei Wochen am Dienstag um 14 Uhr  | 2026-03-10T14:00
jeden Monat am 31.                      | 2026-03-31T08:00
jeden letzten Freitag im Monat          | 2026-03-27T08:00
jährlich am 3. März                     | 2027-03-03T08:00
jeden Tag um 9 bis 1. Juni              | 2026-03-06T09:00
jeden Tag 5 mal                         | 2026-03-06T08:00
"""


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split("|")] for row in table.strip().splitlines()]


@pytest.mark.parametrize(("phrase", "wall"), _rows(ONCE))
def test_german_phrases_give_the_expected_time(typed: Typed, phrase: str, wall: str) -> None:
    parsed = typed(phrase, **DESK)
    assert parsed.recurrence is None
    assert parsed.at is not None
    assert parsed.at.replace(tzinfo=None).isoformat().removesuffix(":00") == wall


@pytest.mark.parametrize(("phrase", "wall"), _rows(AGAIN))
def test_german_repetitions_begin_where_they_should(typed: Typed, phrase: str, wall: str) -> None:
    parsed = typed(phrase, **DESK)
    assert parsed.recurrence is not None
    assert parsed.at is not None
    assert parsed.at.replace(tzinfo=None).isoformat().removesuffix(":00") == wall


@pytest.mark.parametrize(
    ("phrase", "code"),
    [
        ("gestern", "past"),
        ("vor 2 Stunden", "past"),
        ("bald", "unrecognised"),
        ("in 3 werktags", "unrecognised"),
        ("3 montags", "unrecognised"),
        ("15.10", "unrecognised"),
        ("monat 9", "unrecognised"),
        ("next montag", "unrecognised"),
        ("jeden zweiten Dienstag", "unrecognised"),
        ("24 Uhr", "invalid_time"),
        ("25 Uhr", "invalid_time"),
        ("30. Februar", "invalid_date"),
        ("morgen 9 Uhr MEZ", "tz_abbreviation"),
    ],
)
def test_unclear_german_gives_german_suggestions(error_of: ErrorOf, phrase: str, code: str) -> None:
    error = error_of(phrase, **DESK)
    assert error.code == code
    assert error.suggestions


@pytest.mark.parametrize("phrase", ["bis sie antworten", "bis zur Antwort"])
def test_until_a_reply_has_no_time(typed: Typed, phrase: str) -> None:
    parsed = typed(phrase, **DESK)
    assert (parsed.kind, parsed.condition, parsed.at) == ("condition", "until_reply", None)
