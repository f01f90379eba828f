"""Names of days and of hours, rough lengths and short spellings: what they mean at the edges of a day, and what is not
read. The desk is in New York on Thursday 5 March 2026, 10:20, or in Berlin."""

from collections.abc import Callable

import pytest

from snoozer.timephrase.result import ParsedTime, ParseError

Typed = Callable[..., ParsedTime]
ErrorOf = Callable[..., ParseError]
BERLIN = {"zone": "Europe/Berlin", "locale": "de_DE"}
LONDON = {"zone": "Europe/London", "locale": "en_GB"}

ENGLISH = """
christmas                        | 2026-12-25T08:00 |
Christmas Day 9am                | 2026-12-25T09:00 |
xmas eve                         | 2026-12-24T08:00 |
christmas 2027                   | 2027-12-25T08:00 |
christmas next year              | 2027-12-25T08:00 |
2 days before christmas          | 2026-12-23T08:00 |
every christmas                  | 2026-12-25T08:00 |
later                            | 2026-03-05T13:30 |
later if no reply                | 2026-03-05T13:30 |
in a few hours                   | 2026-03-05T13:20 | ambiguous 2026-03-05T14:20
a few hours from now             | 2026-03-05T13:20 | ambiguous 2026-03-05T14:20
first thing monday               | 2026-03-09T08:00 |
first thing on monday            | 2026-03-09T08:00 |
first thing tomorrow morning     | 2026-03-06T08:00 |
monday first thing               | 2026-03-09T08:00 |
first thing in the morning       | 2026-03-06T08:00 |
first thing next week            | 2026-03-09T08:00 |
after lunch                      | 2026-03-05T13:00 |
tomorrow after lunch             | 2026-03-06T13:00 |
after lunch on monday            | 2026-03-09T13:00 |
thursday after lunch             | 2026-03-05T13:00 | ambiguous 2026-03-12T13:00
every day after lunch            | 2026-03-05T13:00 |
24.12. 18h                       | 2026-12-24T18:00 |
24.12. 18h30                     | 2026-12-24T18:30 |
christmas eve 18 h               | 2026-12-24T18:00 |
dec 24 5h                        | 2026-12-24T17:00 | assumed_meridiem
tomorrow 18h                     | 2026-03-06T18:00 |
tomorrow at 9h                   | 2026-03-06T09:00 | assumed_meridiem
3 days 18h                       | 2026-03-09T04:20 |
9:30p                            | 2026-03-05T21:30 |
9p                               | 2026-03-05T21:00 |
12a                              | 2026-03-06T00:00 |
mon 930a                         | 2026-03-09T09:30 |
9:30p Europe/London              | 2026-03-05T16:30 |
tom                              | 2026-03-06T08:00 |
tom 9:30p                        | 2026-03-06T21:30 |
quarter past 3                   | 2026-03-05T15:15 | ambiguous assumed_meridiem 2026-03-06T03:15
tomorrow at quarter past 3       | 2026-03-06T15:15 | ambiguous assumed_meridiem 2026-03-06T03:15
thursday quarter past 3          | 2026-03-05T15:15 | ambiguous assumed_meridiem 2026-03-12T15:15
quarter past 3pm                 | 2026-03-05T15:15 |
quarter past 3 in the afternoon  | 2026-03-05T15:15 |
quarter past 03                  | 2026-03-06T03:15 |
tonight at quarter past 8        | 2026-03-05T20:15 |
"""

GERMAN = """
Heiligabend 18h                  | 2026-12-24T18:00 |
Weihnachten                      | 2026-12-25T08:00 | ambiguous 2026-12-24T08:00
an Weihnachten um 9              | 2026-12-25T09:00 | ambiguous 2026-12-24T09:00
Weihnachten 2027                 | 2027-12-25T08:00 | ambiguous 2027-12-24T08:00
Donnerstag, Weihnachten          | 2026-12-24T08:00 |
christmas                        | 2026-12-25T08:00 |
später                           | 2026-03-05T13:30 |
in ein paar Stunden              | 2026-03-05T13:20 | ambiguous 2026-03-05T14:20
in einigen Stunden               | 2026-03-05T13:20 | ambiguous 2026-03-05T14:20
Montag früh                      | 2026-03-09T08:00 |
Montag als Erstes                | 2026-03-09T08:00 |
als Erstes am Montag             | 2026-03-09T08:00 |
nach dem Mittagessen             | 2026-03-05T13:00 |
morgen nach der Mittagspause     | 2026-03-06T13:00 |
24.12. 18h                       | 2026-12-24T18:00 |
20. März 9h                      | 2026-03-20T09:00 |
9:30p                            | 2026-03-05T21:30 |
tom                              | 2026-03-06T08:00 |
Viertel nach 3                   | 2026-03-05T15:15 | ambiguous assumed_meridiem 2026-03-06T03:15
halb neun                        | 2026-03-06T08:30 | ambiguous 2026-03-05T20:30
Viertel nach 8 abends            | 2026-03-05T20:15 |
"""

# phrase | now | meaning, in New York
MOMENTS = """
christmas                        | 2026-12-24T23:59 | 2026-12-25T08:00
christmas                        | 2026-12-25T07:30 | 2026-12-25T08:00
christmas                        | 2026-12-25T08:00 | 2027-12-25T08:00 next_year
christmas 9pm                    | 2026-12-25T08:00 | 2026-12-25T21:00
christmas eve                    | 2026-12-24T23:59 | 2027-12-24T08:00 next_year
later                            | 2026-03-08T00:30 | 2026-03-08T04:30
later                            | 2026-03-05T20:45 | 2026-03-05T23:45
in a few hours                   | 2026-03-05T22:30 | 2026-03-06T01:30 ambiguous 2026-03-06T02:30
in a few hours                   | 2026-03-07T23:30 | 2026-03-08T03:30 ambiguous 2026-03-08T04:30
in a few hours                   | 2026-10-31T23:30 | 2026-11-01T01:30 ambiguous 2026-11-01T02:30
first thing monday               | 2026-03-08T23:59 | 2026-03-09T08:00
first thing monday               | 2026-03-09T06:00 | 2026-03-09T08:00 ambiguous 2026-03-16T08:00
first thing monday               | 2026-03-09T08:00 | 2026-03-16T08:00
first thing in the morning       | 2026-03-06T00:01 | 2026-03-06T08:00
after lunch                      | 2026-03-05T13:00 | 2026-03-06T13:00
after lunch                      | 2026-03-05T23:59 | 2026-03-06T13:00
9:30p                            | 2026-03-05T21:30 | 2026-03-06T21:30
12a                              | 2026-03-05T23:58 | 2026-03-06T00:00
tom                              | 2026-03-05T23:59 | 2026-03-06T08:00
tom                              | 2026-03-06T00:01 | 2026-03-07T08:00
tom 2:30a                        | 2026-03-07T22:00 | 2026-03-08T03:30 dst_gap
24.12. 18h                       | 2026-12-24T17:58 | 2026-12-24T18:00
24.12. 18h                       | 2026-12-24T18:00 | 2027-12-24T18:00 next_year
march 8 2h                       | 2026-03-07T22:00 | 2026-03-08T14:00 assumed_meridiem
march 8 02h                      | 2026-03-07T22:00 | 2026-03-08T03:00 dst_gap
quarter past 3                   | 2026-03-05T02:00 | 2026-03-05T15:15 ambiguous assumed_meridiem 2026-03-05T03:15
quarter past 3                   | 2026-03-05T23:59 | 2026-03-06T15:15 ambiguous assumed_meridiem 2026-03-06T03:15
"""

REFUSED = """
this christmas, next christmas, after christmas, by christmas, christmas week, christmas 9, 3 christmas, merry christmas
later tonight, later tomorrow, later this week, later 9am, 2 hours later, sooner or later, a little later
a few, few hours, a few days, a few minutes, several hours, a few hours ago, a few hours and 10 minutes, every few hours
a few hours from friday, a few hours after lunch, in a few hours tomorrow
first thing, first thing 9am, first thing tonight, first thing monday evening, first thing monday at 9
every first thing
lunch, at lunch, before lunch, 3 after lunch, 2 hours after lunch, after lunch at 2, after lunch tonight
tomorrow 2h, today 2h, friday 12h, 24.12.18h, 24.12. nine h, 24.12. 18h 30m, 24.12. 18 hours, 3 business days 18h
9 p, 9:30 p, 9:30pp, 9p-5p, nine p, 3/4p, mar 20p, p
tomo, tom's, next tom, tom friday, every tom, day after tom
quarter past 13, quarter past, christmas midnight
"""

REFUSED_IN_GERMAN = """
jedes Weihnachten, jährlich an Weihnachten, jeden Tag bis Weihnachten, nach Weihnachten, Weihnachtszeit
als Erstes, später am Abend, ein paar Tage, ein paar Stunden und 10 Minuten, vor ein paar Stunden
Mittagessen, 9 nach dem Mittagessen, nach dem Essen, montag 2h, 9a montag, 12 a.m. montag
"""


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in row.split("|")] for row in table.strip().splitlines()]


def _listed(phrases: str) -> list[str]:
    return [phrase.strip() for row in phrases.strip().splitlines() for phrase in row.split(",")]


def _meaning(parsed: ParsedTime) -> str:
    """The wall time, the flags and the wall time of the alternative."""
    times = [f"{at:%Y-%m-%dT%H:%M}" if at else "" for at in (parsed.at, parsed.alternative)]
    return " ".join(filter(None, (times[0], *parsed.flags, times[1])))


@pytest.mark.parametrize(("phrase", "wall", "flags"), _rows(ENGLISH))
def test_everyday_phrases_give_the_expected_time(typed: Typed, phrase: str, wall: str, flags: str) -> None:
    assert _meaning(typed(phrase)) == f"{wall} {flags}".strip()


@pytest.mark.parametrize(("phrase", "wall", "flags"), _rows(GERMAN))
def test_everyday_german_phrases_give_the_expected_time(typed: Typed, phrase: str, wall: str, flags: str) -> None:
    assert _meaning(typed(phrase, **BERLIN)) == f"{wall} {flags}".strip()


@pytest.mark.parametrize(("phrase", "now", "meaning"), _rows(MOMENTS))
def test_everyday_phrases_at_the_edges_of_a_day(typed: Typed, phrase: str, now: str, meaning: str) -> None:
    assert _meaning(typed(phrase, now=now)) == meaning


@pytest.mark.parametrize(
    "phrase", ["christmas eve", "later", "a few hours", "first thing monday", "after lunch", "9:30p"]
)
def test_an_everyday_phrase_means_the_same_in_an_address(typed: Typed, phrase: str) -> None:
    assert _meaning(typed(phrase.replace(" ", ""))) == _meaning(typed(phrase))


@pytest.mark.parametrize("phrase", _listed(REFUSED))
def test_what_only_resembles_an_everyday_phrase_is_refused(error_of: ErrorOf, phrase: str) -> None:
    error = error_of(phrase)
    assert error.code == "unrecognised"
    assert error.suggestions


@pytest.mark.parametrize("phrase", _listed(REFUSED_IN_GERMAN))
def test_what_only_resembles_an_everyday_german_phrase_is_refused(error_of: ErrorOf, phrase: str) -> None:
    assert error_of(phrase, **BERLIN).code == "unrecognised"


@pytest.mark.parametrize(
    ("phrase", "now", "code"),
    [
        ("later", "2026-03-05T20:45:01", "no_later_today"),
        ("today after lunch", "2026-03-05T13:30:00", "past"),
        ("first thing today", "2026-03-05T10:20:00", "past"),
        ("after lunch", "2026-03-05T12:59:30", "too_soon"),
        ("christmas 2020", "2026-03-05T10:20:00", "past"),
        ("24.12. 24h", "2026-03-05T10:20:00", "invalid_time"),
        ("13p", "2026-03-05T10:20:00", "invalid_time"),
        ("monday christmas", "2026-03-05T10:20:00", "invalid_date"),
    ],
)
def test_an_everyday_phrase_that_cannot_come_raises_its_code(
    error_of: ErrorOf, phrase: str, now: str, code: str
) -> None:
    assert error_of(phrase, now=now).code == code


def test_the_day_before_a_holiday_is_no_alternative_once_it_has_passed(typed: Typed) -> None:
    assert _meaning(typed("weihnachten", now="2026-12-24T09:00", **BERLIN)) == "2026-12-25T08:00"
    assert _meaning(typed("weihnachten", now="2026-12-24T06:00", **BERLIN)) == (
        "2026-12-25T08:00 ambiguous 2026-12-24T08:00"
    )
    assert _meaning(typed("weihnachten", now="2026-12-25T08:00", **BERLIN)) == (
        "2027-12-25T08:00 ambiguous next_year 2027-12-24T08:00"
    )


@pytest.mark.parametrize(
    ("phrase", "place", "meaning"),
    [
        ("easter", LONDON, "2026-04-05T08:00"),
        ("easter monday 10:00", LONDON, "2026-04-06T10:00"),
        ("good friday", LONDON, "2026-04-03T08:00"),
        ("easter 2028", LONDON, "2028-04-16T08:00"),
        ("easter next year", LONDON, "2027-03-28T08:00"),
        ("on easter at noon", LONDON, "2026-04-05T12:00"),
        ("thanksgiving", LONDON, "2026-11-26T08:00"),
        ("thanksgiving evening", LONDON, "2026-11-26T18:00"),
        ("ostern", BERLIN, "2026-04-05T08:00"),
        ("Pfingstmontag um 9", BERLIN, "2026-05-25T09:00"),
        ("Christi Himmelfahrt", BERLIN, "2026-05-14T08:00"),
        ("nach Ostern", BERLIN, None),
        ("every easter", LONDON, None),
    ],
)
def test_a_holiday_whose_date_differs_each_year(
    typed: Typed, error_of: ErrorOf, phrase: str, place: dict[str, str], meaning: str | None
) -> None:
    if meaning is None:
        assert error_of(phrase, **place).code == "unrecognised"
    else:
        assert _meaning(typed(phrase, **place)) == meaning


def test_a_holiday_that_has_passed_is_next_years(typed: Typed) -> None:
    assert _meaning(typed("easter", now="2026-04-05T09:00", **LONDON)) == "2027-03-28T08:00 next_year"
    assert _meaning(typed("thanksgiving", now="2026-11-26T06:00", **LONDON)) == "2026-11-26T08:00"
    assert _meaning(typed("thanksgiving", now="2026-11-26T09:00", **LONDON)) == "2027-11-25T08:00 next_year"


@pytest.mark.parametrize(
    ("phrase", "place", "clock", "meaning"),
    [
        ("this evening", LONDON, "17:59", "18:00"),
        ("this evening", LONDON, "18:00", "20:00"),
        ("this evening", LONDON, "19:30", "20:00"),
        ("this evening", LONDON, "19:31", None),
        ("heute abend", BERLIN, "18:17", "20:00"),
        ("heute abend", BERLIN, "19:31", None),
    ],
)
def test_an_evening_that_has_begun_is_its_later_hour(
    typed: Typed, error_of: ErrorOf, phrase: str, place: dict[str, str], clock: str, meaning: str | None
) -> None:
    if meaning is None:
        assert error_of(phrase, now=f"2026-03-05T{clock}", **place).code == "past"
    else:
        assert _meaning(typed(phrase, now=f"2026-03-05T{clock}", **place)) == f"2026-03-05T{meaning}"


def test_no_easter_is_known_after_4099(error_of: ErrorOf) -> None:
    assert error_of("easter 9999", **LONDON).code == "too_far"


def test_a_time_counted_from_an_hour_has_two_halves_of_the_day_in_every_country(typed: Typed) -> None:
    assert _meaning(typed("quarter past 3", **LONDON)) == (
        "2026-03-05T15:15 ambiguous assumed_meridiem 2026-03-06T03:15"
    )
    assert _meaning(typed("quarter to 1", **LONDON)) == "2026-03-05T12:45 ambiguous assumed_meridiem 2026-03-06T00:45"
    assert _meaning(typed("tomorrow quarter to 12", **LONDON)) == "2026-03-06T11:45 ambiguous 2026-03-06T23:45"
    assert _meaning(typed("thursday quarter past 3", **LONDON)) == (
        "2026-03-05T15:15 ambiguous assumed_meridiem 2026-03-12T15:15"
    )
    assert _meaning(typed("at 3", **LONDON)) == "2026-03-05T15:00 assumed_meridiem"
    assert _meaning(typed("at 9", **LONDON)) == "2026-03-06T09:00"


def test_the_other_half_of_the_day_is_there_when_a_clock_change_takes_the_first(typed: Typed) -> None:
    london = {**LONDON, "now": "2026-03-27T09:00"}
    assert _meaning(typed("sunday quarter past 1", **london)) == (
        "2026-03-29T13:15 ambiguous assumed_meridiem 2026-03-29T02:15"
    )


def test_the_other_half_of_today_is_suggested_when_the_first_has_passed(error_of: ErrorOf) -> None:
    error = error_of("today quarter past 8", **LONDON)
    assert (error.code, error.suggestions[0]) == ("past", "5 March 20:15")


def test_a_day_that_only_one_half_has_offers_no_other(typed: Typed) -> None:
    """In the night it is over, and the next month has no fifth Monday."""
    meaning = _meaning(typed("5th monday of month quarter past 3", now="2026-03-30T10:00"))
    assert meaning == "2026-03-30T15:15 assumed_meridiem"
