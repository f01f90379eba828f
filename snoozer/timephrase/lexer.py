"""From typed text to a row of tokens: words, numbers, dates and clock times, each a maximal run.

Spaces are not needed between letters and digits, nor between words of the list (`tomorrow8am`, `nextmonday`), so that a
phrase can be written in an email address. Any other character, including digits of other scripts, makes the row None.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from snoozer.timephrase.locales import LANGUAGES, Language
from snoozer.timephrase.zones import ABBREVIATIONS, named_in_a_phrase

# Groups of the pattern that are only part of a token.
_SEPARATORS = ("glued", "mark")
MAX_TOKENS = 40
MAX_GLUED_WORD_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Token:
    """`shape` is date, clock, dotted (9.30), decimal, ordinal, integer, zone, word, sign, or the hyphen of mon-fri."""

    shape: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Tokens:
    """The row that the parser walks. Positions are plain integers; `len` is the end."""

    row: tuple[Token, ...]
    language: Language

    def __len__(self) -> int:
        return len(self.row)

    def shape(self, at: int) -> str:
        return self.row[at].shape if at < len(self.row) else ""

    def text(self, at: int) -> str:
        return self.row[at].text if at < len(self.row) else ""

    def touching(self, at: int) -> bool:
        """Whether this token and the next are written without a space between them."""
        return at + 1 < len(self.row) and self.row[at].end == self.row[at + 1].start

    def match(self, at: int, role: str) -> Iterator[tuple[str, int]]:
        """Every word or phrase of that role that starts here, the longest first: its value and its end."""
        if self.shape(at) != "word":
            return
        for words, value in self.language.roles.get(role, {}).get(self.row[at].text, ()):
            end = at + len(words)
            if tuple(token.text for token in self.row[at:end]) == words:
                yield value, end

    def optional(self, at: int, *roles: str) -> Iterator[int]:
        """The positions after each optional word or phrase of these roles that starts here, and the present
        position."""
        for role in roles:
            for _, end in self.match(at, role):
                yield end
        yield at

    def says(self, at: int) -> str:
        """The kind of a bare number here, by the word right before it: `length` (in 5), `clock` (at 5), `end` of a
        wait (until 5), `day` (on 5), `name` (im April), or nothing if there is no such word."""
        return self._kinds[at] if at < len(self._kinds) else ""

    @cached_property
    def _kinds(self) -> tuple[str, ...]:
        kinds = [""] * (len(self.row) + 1)
        for start in range(len(self.row)):
            for value, end in self.match(start, "says"):
                kinds[end] = kinds[end] or value  # the longer phrase, which starts first, decides
        return tuple(kinds)

    def numbers(self, at: int, role: str) -> Iterator[tuple[int, int]]:
        for value, end in self.match(at, role):
            yield int(value), end


def _pattern(*, ordinal_dot: bool, decimal_comma: bool) -> re.Pattern[str]:
    decimal = "[.,]" if decimal_comma else "[.]"
    ordinal = "[0-9]{1,2}" + (r"\.(?![0-9])" if ordinal_dot else "(?:st|nd|rd|th)")
    # After a year, or after a two-digit day, a clock time needs no space in an address.
    glued_clock = "[0-9]{1,2}(?:[ap]m|[ap](?![a-z])|:[0-9]{2})"
    return re.compile(
        rf"""(?P<space>[ ,_]+)
        |(?P<date>[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?![0-9])
            |[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?=[0-9]{{2}}:[0-9]{{2}})
            |[0-9]{{1,2}}(?P<glued>[/.-])[0-9]{{1,2}}(?P=glued)20[0-9]{{2}}(?={glued_clock})
            |[0-9]{{4}}/[0-9]{{1,2}}/[0-9]{{1,2}}(?![0-9/])
            |20[0-9]{{6}}(?![0-9])
            |[0-9]{{1,2}}(?P<mark>[/.-])[0-9]{{1,2}}(?P=mark)(?:[0-9]{{4}}|[0-9]{{2}})(?![0-9])
            |[0-9]{{1,2}}/[0-9]{{1,2}}(?![0-9/])
            |[0-9]{{1,2}}\.[0-9]{{1,2}}\.(?![0-9]))
        |(?P<clock>[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:[.,][0-9]{{1,9}})?)?(?![0-9:]))
        |(?P<dotted>[0-9]{{1,2}}\.[0-9]{{2}}(?![0-9.]))
        |(?P<decimal>[0-9]{{1,3}}{decimal}[0-9]{{1,2}}(?![0-9.,]))
        |(?P<ordinal>{ordinal})
        |(?P<integer>20[0-9]{{2}}(?={glued_clock})|(?<=[a-z])[0-9]{{1,2}}(?=20[0-9]{{2}}(?:{glued_clock}|(?![0-9])))|[0-9]{{2}}(?=[0-9]{{2}}:[0-9]{{2}})|[0-9]+)
        |(?P<zone>(?:est5edt|cst6cdt|mst7mdt|pst8pdt)(?![a-z0-9])|[a-z]+(?:[_-][a-z]+)*(?:/[a-z][a-z0-9_+-]*)+)
        |(?P<meridiem>[ap]\.m(?![a-z])\.?|(?<=[0-9])[ap](?![a-z.'/]))
        |(?P<word>[a-z']+\.?)
        |(?P<sign>[+-])""",
        re.VERBOSE,
    )


# Compile at import, so that the first phrase is as quick as later ones.
_PATTERNS = {
    name: _pattern(ordinal_dot=language.data.ordinal_dot, decimal_comma=language.data.decimal_comma)
    for name, language in LANGUAGES.items()
}
_BASIC_CLOCK = re.compile(r"t([0-9]{2})([0-9]{2})([0-9]{2})?(?![0-9:])")


def tokenize(normalized: str, language: Language) -> Tokens | None:
    """The tokens of a normalized phrase, or None when a character or word belongs to no time."""
    pattern = _PATTERNS[language.data.name]
    row: list[Token] = []
    at = 0
    while at < len(normalized):
        after_date = bool(row) and row[-1].shape == "date" and row[-1].end == at
        if after_date and normalized[at] == "t" and normalized[at + 1 : at + 2].isdecimal():
            basic = _BASIC_CLOCK.match(normalized, at)
            if basic:
                row.append(Token("clock", ":".join(filter(None, basic.groups())), at, basic.end()))
            at = basic.end() if basic else at + 1
            continue
        match = pattern.match(normalized, at)
        if match is None or len(row) > MAX_TOKENS:
            return None
        shape = next(name for name, text in match.groupdict().items() if text is not None and name not in _SEPARATORS)
        if shape in ("word", "zone", "meridiem"):
            found = _words(match[0], at, shape=shape, after_digit=_is_digit(normalized, at - 1), language=language)
            if found is None:
                return None
            row.extend(found)
        elif shape == "sign" and _between_letters(normalized, at):
            row.append(Token("hyphen", "-", at, match.end()))
        elif shape != "space":
            row.append(Token(shape, match[0], at, match.end()))
        at = match.end()
    kept = (token for n, token in enumerate(row) if token.shape != "hyphen" or _is_range(row, n, language))
    return Tokens(tuple(kept), language)


def _is_digit(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at] in "0123456789"


def _between_letters(text: str, at: int) -> bool:
    return text[at] == "-" and 0 < at < len(text) - 1 and text[at - 1].isalpha() and text[at + 1].isalpha()


def _is_range(row: list[Token], at: int, language: Language) -> bool:
    """Whether a hyphen between words joins two weekdays; any other hyphen joins the words of one expression."""
    around = [token.text for token in (row[at - 1], *row[at + 1 : at + 2])]
    roles = (language.roles[role] for role in ("weekday", "each_weekday"))
    return len(around) == 2 and any(all(word in names for word in around) for names in roles)


def _words(text: str, at: int, *, shape: str, after_digit: bool, language: Language) -> list[Token] | None:
    if shape == "meridiem":
        # In German "am" is another word: 12 a.m. Montag is not 12 am Montag.
        return None if "meridiem" not in language.roles else [Token("word", text[0] + "m", at, at + len(text))]
    if shape == "zone":
        return _zone(text, at, after_digit=after_digit, language=language)
    bare = text.rstrip(".")
    pieces = (bare,) if _known(bare, language) else _pieces(bare, after_digit=after_digit, language=language)
    if not pieces:
        return None
    row, start = [], at
    for piece in pieces:
        row.append(Token("word", piece, start, start + len(piece)))
        start += len(piece)
    return row


def _zone(text: str, at: int, *, after_digit: bool, language: Language) -> list[Token] | None:
    """A zone's name, even glued to the word before it (`9ameurope/london`)."""
    for cut in range(max(text.find("/"), 1)):
        if named_in_a_phrase(text[cut:]):
            zone = Token("zone", text[cut:], at + cut, at + len(text))
            before = text[:cut].rstrip("_")
            head = _words(before, at, shape="word", after_digit=after_digit, language=language) if before else []
            return None if head is None else [*head, zone]
    return None


def _known(word: str, language: Language) -> bool:
    return word in language.words or word in ABBREVIATIONS or named_in_a_phrase(word) is not None


def _pieces(text: str, *, after_digit: bool, language: Language) -> tuple[str, ...]:
    """The fewest listed words that make up a run of letters, or no words. A single letter counts only if it cannot be
    chance: a unit right after a digit, or "a" in front of another word."""
    if len(text) > MAX_GLUED_WORD_LENGTH:
        return ()
    best: list[tuple[str, ...] | None] = [None] * len(text) + [()]
    for start in range(len(text) - 1, -1, -1):
        for end in range(start + 1, len(text) + 1):
            rest, word = best[end], text[start:end]
            if rest is None or not _known(word, language):
                continue
            if len(word) == 1 and not (start == 0 and after_digit) and not (word == "a" and rest):
                continue
            here = best[start]
            if here is None or len(rest) + 1 < len(here):
                best[start] = (word, *rest)
    return best[0] or ()
