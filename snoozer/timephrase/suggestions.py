"""Candidates for the suggestions of a ParseError: repairs of the phrase, then the language's defaults.

`parse` offers only candidates that parse.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from snoozer.timephrase.lexer import Tokens, tokenize
from snoozer.timephrase.locales import LANGUAGES, Language, normalize
from snoozer.timephrase.zones import ABBREVIATIONS

_MAX_WORDS = 6
_YEARS = range(2024, 2060)
_MAX_LENGTH = 60
_MIN_PART_LENGTH = 3
_HALF_OF_DAY = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?(?: ?[ap]\.?m|[ap])\b\.?")
_YEAR_AT_THE_END = re.compile(r"(?<=[a-z]) 20[0-9]{2}$")
_DIGIT = re.compile("[0-9]")
_LETTERS = re.compile("[a-z']+")
# Signs that no phrase has.
_STRAY = re.compile(r"[^a-z0-9 .,:/+'_-]+")
_BARE_END = re.compile(r"( [0-9]{1,2})h?$")
_DAY_AT_THE_END = re.compile(r"\b(?:on|am|an|zum) [0-9]+h?$")
_FRENCH_CLOCK = re.compile(r"\b([0-9]{1,2}) ?h ?([0-9]{2})\b")
_MEASURES = frozenset(
    word
    for language in LANGUAGES.values()
    for role in ("unit", "workday", "meridiem", "oclock")
    for word in language.roles.get(role, {})
)


def candidates(phrase: str, code: str, language: Language) -> Iterator[str]:
    """Phrases to offer for an error with that code, the closest to the typed phrase first."""
    hints = language.data.hints
    if len(phrase) <= _MAX_LENGTH:
        normalized = normalize(phrase)
        for candidate in _by_code(normalized, code, tokenize(normalized, language), language):
            yield " ".join(language.spellings.get(word, word) for word in candidate.split())  # with its umlauts again
    yield from hints.get(code, ())
    yield from language.data.default_suggestions
    yield from hints["past"]


def _by_code(normalized: str, code: str, tokens: Tokens | None, language: Language) -> Iterator[str]:
    if code == "negative":
        yield normalized.replace("-", " ", 1)
    elif code == "invalid_time" and (match := _HALF_OF_DAY.search(normalized)) and not 1 <= int(match[1]) <= 12:
        yield f"{normalized[: match.start()]}{match[1]}:{match[2] or '00'}{normalized[match.end() :]}"
    elif code == "unrecognised":
        yield from _sides(normalized, language)
        mended = list(_mended(normalized, language))
        yield from mended
        yield from _completed(normalized, tokens, language) if tokens else ()
        yield from _parts(normalized) if not mended else ()
        year = _YEAR_AT_THE_END.search(normalized)
        for month in _words_of(tokens, "month") if tokens and (year or not _DIGIT.search(normalized)) else ():
            yield from (hint.format(month=month) + (year[0] if year else "") for hint in language.data.hints["month"])
    if tokens is None:
        return
    if code == "tz_abbreviation":
        yield from _with_a_clear_zone(normalized, tokens)
    elif code == "invalid_date":
        last = language.data.hints["last_of_month"][0]
        for month in _words_of(tokens, "month"):
            yield from (last.format(month=month, number=number) for number in (31, 30, 29, 28))
    elif code == "past":
        yield from _tomorrow(normalized, tokens, language)


def _mended(normalized: str, language: Language) -> Iterator[str]:
    """The phrase with its misspelt words replaced by the listed ones they resemble most; a bare hour at the
    end, or 14h, with its minutes; 14h30 as 14:30."""
    tidy = _STRAY.sub(" ", normalized).strip(" .")
    words = set(_LETTERS.findall(tidy))
    if len(words) <= _MAX_WORDS:
        closest = {word: _closest(word, language) for word in words}
        mended = _LETTERS.sub(lambda word: closest[word[0]] or word[0], tidy)
        if mended != normalized and None not in closest.values():
            yield mended
        # "mintues" is unknown, although "min" and "tues" are words.
        joined = {word: near for word in words if (near := _resembling(word, language)) not in (None, word)}
        if joined:
            yield _LETTERS.sub(lambda word: joined.get(word[0]) or closest[word[0]] or word[0], tidy)
    if _BARE_END.search(normalized) and not _DAY_AT_THE_END.search(normalized):
        yield _BARE_END.sub(r"\1:00", normalized)
    if _FRENCH_CLOCK.search(normalized):
        yield _FRENCH_CLOCK.sub(r"\1:\2", normalized)
        yield _FRENCH_CLOCK.sub(r"\1h\2m", normalized)


def _closest(word: str, language: Language) -> str | None:
    return word if tokenize(word, language) is not None else _resembling(word, language)


def _resembling(word: str, language: Language) -> str | None:
    """The word of the list that it resembles most; itself if it is one."""
    if word in language.words:
        return word
    exchanged = (known for known in language.words if len(known) == len(word) and sorted(known) == sorted(word))
    if len(word) > 1 and (meant := next(iter(sorted(exchanged)), None)):
        return meant
    if len(word) < _MIN_PART_LENGTH:
        return None if tokenize(word, language) is None else word
    near = (known for known in language.words if known[0] == word[0] and -2 <= len(known) - len(word) <= 2)
    return next(iter(get_close_matches(word, [known for known in near if len(known) > 2], n=1, cutoff=0.7)), None)


def _sides(normalized: str, language: Language) -> Iterator[str]:
    """Both sides of an "or"."""
    for word in language.data.hints["or"]:
        if f" {word} " in normalized:
            yield from normalized.split(f" {word} ")[:2]


def _parts(normalized: str) -> Iterator[str]:
    """The phrase without its first or last words; a unit stays with its number."""
    words = normalized.rstrip("!?. ").split()
    if len(words) <= _MAX_WORDS:
        for cut in range(1, len(words)):
            for at in (cut, -cut):
                kept, dropped = (words[at:], words[:at]) if at > 0 else (words[:at], words[at:])
                if words[at] in _MEASURES:
                    continue
                part = " ".join(kept)
                if len(part) >= _MIN_PART_LENGTH and not any(map(str.isdecimal, "".join(dropped))):
                    yield part


def _completed(normalized: str, tokens: Tokens, language: Language) -> Iterator[str]:
    """The beginning of a phrase, completed in the usual ways."""
    hints = language.data.hints
    weekdays = _words_of(tokens, "weekday")
    last = len(tokens) - 1
    numbers = [int(tokens.text(last))] if tokens.shape(last) == "integer" else []
    numbers.extend(number for number, end in tokens.numbers(last, "number") if end == len(tokens))
    if numbers and (last == 0 or tokens.says(last) == "length") and numbers[0] not in _YEARS:
        yield from (hint.format(number=numbers[0]) for hint in hints["number"])
    if tokens.shape(last) == "clock" and tokens.says(last) == "length":
        hours, minutes = (int(number) for number in tokens.text(last).split(":")[:2])
        role = "hours_and_minutes" if hours else "number"
        yield from (hint.format(hours=hours, minutes=minutes, number=minutes) for hint in hints[role][:1])
        yield tokens.text(last)
    if numbers and numbers[0] in _YEARS and (last == 0 or (last == 1 and tokens.says(last))):
        january = language.data.words["month"]["1"][0]
        first_day = f"1. {january}" if language.data.ordinal_dot else f"{january} 1"
        yield from (f"{first_day} {numbers[0]}", f"{numbers[0] // 100}:{numbers[0] % 100:02}")
    if tokens.shape(0) == "integer" and last > 0:
        yield f"in {normalized}"
    if _words_of(tokens, "every"):
        yield from _both_frequencies(tokens, weekdays, language)
        yield from hints["every"]
    if _words_of(tokens, "no_reply"):
        yield from hints["no_reply"]


def _both_frequencies(tokens: Tokens, weekdays: list[str], language: Language) -> Iterator[str]:
    """Every second tuesday: every two weeks, or the second tuesday of a month."""
    weeks, month = language.data.hints["second"]
    for at in range(len(tokens)):
        numbers = [nth for nth, _ in tokens.numbers(at, "ordinal")]
        if tokens.shape(at) == "ordinal":
            numbers = [int("".join(filter(str.isdecimal, tokens.text(at))))]
        for number in numbers:
            for weekday in weekdays:
                yield weeks.format(number=number, weekday=weekday)
                yield month.format(nth=tokens.text(at), weekday=weekday)


def _with_a_clear_zone(normalized: str, tokens: Tokens) -> Iterator[str]:
    for token in tokens.row:
        if token.shape == "word" and token.text in ABBREVIATIONS:
            for instead in ABBREVIATIONS[token.text]:
                yield f"{normalized[: token.start]} {instead}{normalized[token.end :]}"


def _tomorrow(normalized: str, tokens: Tokens, language: Language) -> Iterator[str]:
    """The same part of the next day, or the same time tomorrow."""
    hints = language.data.hints
    for at in range(len(tokens)):
        for part, _ in (*tokens.match(at, "part"), *tokens.match(at, "part_of_day")):
            yield from hints.get(part, ())
        for _ in tokens.match(at, "tonight"):
            yield from hints["night"]
        for number, _ in tokens.numbers(at, "day"):
            token = tokens.row[at]
            if number <= 0:
                yield f"{normalized[: token.start]}{hints['past'][0]}{normalized[token.end :]}"
                yield language.data.default_suggestions[0]


def _words_of(tokens: Tokens, role: str) -> list[str]:
    return [tokens.text(at) for at in range(len(tokens)) if any(True for _ in tokens.match(at, role))]
