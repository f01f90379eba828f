"""The mark at the beginning of a row: a sender's initials, and a tone, constant for each sender."""

import unicodedata
from hashlib import sha256
from typing import Any

TONES = 6
UNKNOWN = "?"


def initials(row: Any) -> str:
    """The first letters of the first and the last word of a name, or the first letter of an address; one character of a
    script that writes words without spaces."""
    name = getattr(row, "sender_name", None) or (row.sender_email or "").partition("@")[0]
    letters = [letter for word in name.split() if (letter := _first_letter(word))]
    if not letters:
        return UNKNOWN
    shown = [letters[0], *letters[1:][-1:]] if getattr(row, "sender_name", None) else letters[:1]
    return "".join(shown)[:2] if all(map(_has_case, shown)) else shown[0]


def tone(row: Any) -> int:
    """The sender's tone. It has no meaning: it helps the eye to find the same sender again."""
    who = (row.sender_email or getattr(row, "sender_name", None) or "").casefold()
    return sha256(who.encode("utf-8", "replace")).digest()[0] % TONES


def _first_letter(word: str) -> str:
    return next((_large(char) for char in word if unicodedata.category(char)[0] in "LN"), "")


def _large(char: str) -> str:
    large = char.upper()
    return large if len(large) == 1 else char


def _has_case(letter: str) -> bool:
    return letter.lower() != letter.upper()
