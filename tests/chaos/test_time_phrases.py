"""A million random phrases: each gives a sound time or a ParseError, and none takes longer than 5 ms.

SNOOZER_STORM=1 makes it the million and measures the 5 ms of processor time; else it is always the same
few thousand, unmeasured.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random, SystemRandom
from zoneinfo import ZoneInfo

from snoozer.timephrase.locales import LANGUAGES
from snoozer.timephrase.parse import parse
from snoozer.timephrase.result import ParsedTime, ParseError
from snoozer.timephrase.zones import NAMES

FULL = os.environ.get("SNOOZER_STORM") == "1"
PHRASES_PER_SEED = 100
SEEDS = 10_000 if FULL else 20
MAX_SECONDS = 0.005

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


@dataclass
class Measured:
    """How many phrases were parsed, how many were accepted, and the slowest one with its seconds."""

    calls: int = 0
    accepted: int = 0
    seconds: float = 0.0
    slowest: str = ""


def _phrases(random: Random) -> Iterator[str]:
    """Strings of signs, strings of words, and typed phrases with letters and words lost, doubled, swapped, joined."""
    for _ in range(PHRASES_PER_SEED):
        kind = random.randrange(5)
        if kind == 0:
            yield "".join(random.choice(SIGNS) for _ in range(random.randrange(40)))
        elif kind == 1:
            yield " ".join(random.choice(WORDS) for _ in range(random.randrange(1, 40)))[:220]
        elif kind == 2:
            yield "".join(chr(random.randrange(0x110000)) for _ in range(random.randrange(20)))
        elif kind == 3:
            yield _with_a_word_changed(random.choice(TYPED).split(), random)
        else:
            yield _with_a_letter_changed(random.choice(TYPED), random)


def _with_a_word_changed(words: list[str], random: Random) -> str:
    for _ in range(random.randrange(3)):
        at = random.randrange(len(words) + 1)
        new = random.choice((random.choice(WORDS), str(random.randrange(100)), *words))
        words[at : at + random.randrange(2)] = [new]
    return random.choice((" ", " ", "")).join(words)


def _with_a_letter_changed(phrase: str, random: Random) -> str:
    for _ in range(random.randrange(3)):
        at = random.randrange(len(phrase) + 1)
        phrase = phrase[:at] + random.choice(("", random.choice(SIGNS))) + phrase[at + random.randrange(2) :]
    return random.choice((phrase, phrase.upper(), phrase.title()))


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


def _check_spellings(parsed: ParsedTime, now: datetime, zone: str, locale: str, random: Random) -> None:
    """Case and runs of spaces do not matter. A leading preposition does not either, unless it decides what a number
    after it is; then it may be refused."""
    plain = " ".join(parsed.phrase.split())
    lead = random.choice(("", "in ", "At  ", "ON ", "until ")) if plain[:1].isalpha() else ""
    if not plain.isascii() or len(plain) > 60:
        return
    try:
        again = parse(f"  {lead}{plain.swapcase().replace(' ', '   ')} ", now=now, zone=zone, locale=locale)
    except ParseError:
        assert lead, parsed.phrase
        return
    assert (again.at, again.flags, again.alternative, again.recurrence, again.condition) == (
        parsed.at,
        parsed.flags,
        parsed.alternative,
        parsed.recurrence,
        parsed.condition,
    ), (parsed.phrase, lead)


def _check_seed(seed: int, measured: Measured) -> None:
    random = Random(seed)
    for phrase in _phrases(random):
        now = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(3653 * 86_400))
        zone, locale = random.choice(ZONES), random.choice(LOCALES)
        taken, parsed = _timed(phrase, now, zone, locale)
        # A garbage collection or a zone read from disk is not the grammar's: a slow call is measured again.
        if FULL and taken > MAX_SECONDS:
            taken = min(taken, *(_timed(phrase, now, zone, locale)[0] for _ in range(3)))
        assert taken <= MAX_SECONDS or not FULL, (phrase, now, zone, locale, taken)
        measured.calls += 1
        measured.accepted += parsed is not None
        if taken > measured.seconds:
            measured.seconds, measured.slowest = taken, phrase
        if parsed is not None:
            _check(parsed, now, zone)
            _check_spellings(parsed, now, zone, locale, random)


def test_any_phrase_is_a_sound_time_or_a_parse_error_within_5_ms() -> None:
    first = SystemRandom().randrange(2**62) if FULL else 0
    print(f"seeds from {first}")
    measured = Measured()
    for seed in range(first, first + SEEDS):
        _check_seed(seed, measured)
    print(
        f"{measured.calls} phrases, {measured.accepted} accepted, "
        f"the slowest took {measured.seconds * 1000:.2f} ms: {measured.slowest!r}"
    )
    assert measured.accepted
