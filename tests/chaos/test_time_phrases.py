"""A million phrases that nobody would type: nothing is raised but a refusal, nothing takes longer than 5 ms.

SNOOZER_STORM=1 makes it the million; else a few thousand. Hypothesis throws the dice, a hundred phrases a throw.
"""

import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from snoozer.timephrase import ParsedTime, ParseError, parse
from snoozer.timephrase.locales import LANGUAGES
from snoozer.timephrase.zones import NAMES

FULL = os.environ.get("SNOOZER_STORM") == "1"
A_THROW = 100
THROWS = 10_000 if FULL else 20
LONGEST = 0.005

WORDS = sorted(LANGUAGES["en"].words | LANGUAGES["de"].words)
ZONES = sorted(NAMES.values())
LOCALES = ("en_US", "en_GB", "en_IN", "de_DE", "de_AT", "fr_FR")
SIGNS = "0123456789 :/.-+,'@!?apmhdwtyzäöüß½٣🎉\x00\u202f\ud800"
CASES = Path(__file__).parents[1] / "unit" / "timephrase" / "cases.json"
TYPED = (
    *(case["phrase"] for case in json.loads(CASES.read_text())),
    *(phrase for language in LANGUAGES.values() for _, phrase in language.data.presets),
    "every 2 weeks on tuesday 14:00 until 1 june",
    "every month on the 15th or the weekday before",
    "tomorrow 9am Europe/London",
    "2026-03-29T02:30 Europe/Berlin",
)


class Slowest:
    """What was measured: every call, what was accepted, and the longest one."""

    taken = 0.0
    phrase = ""
    calls = 0
    accepted = 0


def _phrases(dice: Random) -> Iterator[str]:
    """Strings of signs, strings of words, and typed phrases with letters and words lost, doubled, swapped, joined."""
    for _ in range(A_THROW):
        kind = dice.randrange(5)
        if kind == 0:
            yield "".join(dice.choice(SIGNS) for _ in range(dice.randrange(40)))
        elif kind == 1:
            yield " ".join(dice.choice(WORDS) for _ in range(dice.randrange(1, 40)))[:220]
        elif kind == 2:
            yield "".join(chr(dice.randrange(0x110000)) for _ in range(dice.randrange(20)))
        elif kind == 3:
            yield _with_a_word_changed(dice.choice(TYPED).split(), dice)
        else:
            yield _with_a_letter_changed(dice.choice(TYPED), dice)


def _with_a_word_changed(words: list[str], dice: Random) -> str:
    for _ in range(dice.randrange(3)):
        at = dice.randrange(len(words) + 1)
        new = dice.choice((dice.choice(WORDS), str(dice.randrange(100)), *words))
        words[at : at + dice.randrange(2)] = [new]
    return dice.choice((" ", " ", "")).join(words)


def _with_a_letter_changed(phrase: str, dice: Random) -> str:
    for _ in range(dice.randrange(3)):
        at = dice.randrange(len(phrase) + 1)
        phrase = phrase[:at] + dice.choice(("", dice.choice(SIGNS))) + phrase[at + dice.randrange(2) :]
    return dice.choice((phrase, phrase.upper(), phrase.title()))


def _timed(phrase: str, now: datetime, zone: str, locale: str) -> tuple[float, ParsedTime | None]:
    """Processor seconds, so that other work on the machine does not count."""
    began = time.thread_time()
    try:
        parsed = parse(phrase, now=now, zone=zone, locale=locale)
    except ParseError:
        return time.thread_time() - began, None
    return time.thread_time() - began, parsed


def _check(parsed: ParsedTime, now: datetime, zone: str) -> None:
    """It lies ahead, it exists in the zone, and it has the offset that the zone has then."""
    if parsed.at is None:
        return
    assert parsed.at - now >= timedelta(minutes=1), parsed.phrase
    here = parsed.at.astimezone(ZoneInfo(zone))
    assert here.utcoffset() == parsed.at.utcoffset(), parsed.phrase
    assert here.replace(tzinfo=None, fold=0) == parsed.at.replace(tzinfo=None), parsed.phrase


def _check_spellings(parsed: ParsedTime, now: datetime, zone: str, locale: str, dice: Random) -> None:
    """Case, runs of spaces and a leading preposition do not matter."""
    plain = " ".join(parsed.phrase.split())
    lead = dice.choice(("", "in ", "At  ", "ON ", "until "))
    if not plain.isascii() or len(plain) > 60:
        return
    again = parse(f"  {lead}{plain.swapcase().replace(' ', '   ')} ", now=now, zone=zone, locale=locale)
    assert (again.at, again.flags, again.alternative, again.recurrence, again.condition) == (
        parsed.at,
        parsed.flags,
        parsed.alternative,
        parsed.recurrence,
        parsed.condition,
    ), (parsed.phrase, lead)


def _throw(seed: int) -> None:
    dice = Random(seed)
    for phrase in _phrases(dice):
        now = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=dice.randrange(3653 * 86_400))
        zone, locale = dice.choice(ZONES), dice.choice(LOCALES)
        taken, parsed = _timed(phrase, now, zone, locale)
        # A pause of the collector or a zone read from disk is not the grammar's: a slow call is measured again.
        if taken > LONGEST:
            taken = min(taken, *(_timed(phrase, now, zone, locale)[0] for _ in range(3)))
        assert taken <= LONGEST, (phrase, now, zone, locale, taken)
        Slowest.calls += 1
        Slowest.accepted += parsed is not None
        if taken > Slowest.taken:
            Slowest.taken, Slowest.phrase = taken, phrase
        if parsed is not None:
            _check(parsed, now, zone)
            _check_spellings(parsed, now, zone, locale, dice)


@settings(max_examples=THROWS, deadline=None, database=None)
@given(seed=st.integers(0, 2**63))
def test_whatever_is_typed_is_a_sound_reading_or_a_refusal_within_5_ms(seed: int) -> None:
    _throw(seed)


def test_the_figures() -> None:
    print(
        f"{Slowest.calls} phrases, {Slowest.accepted} accepted, "
        f"the slowest took {Slowest.taken * 1000:.2f} ms: {Slowest.phrase!r}"
    )
    assert Slowest.calls >= THROWS * A_THROW
