"""Texts for operators and programs: without mail addresses, and text only."""

import re

# Linear: a pattern of a whole address would restart at each character of a long word without an @.
_WORD = re.compile(r"[^\s<>(),;]+")


def masked(email: str | None) -> str:
    """Returns "a…@e…" for "ann@example.org", a dash for None."""
    if not email:
        return "–"
    local, _, domain = email.rpartition("@")
    return f"{_first(local)}…@{_first(domain)}…" if local else f"{_first(email)}…"


def without_addresses(text: str) -> str:
    """Returns the text with "…@…" for every address in it."""
    return _WORD.sub(_redact, text)


def plain(text: str | None, *, limit: int = 2_000) -> str:
    """Returns a stranger's text for an operator: without addresses, with "·" for each character that does not show or
    turns the direction of the text, and at most `limit` characters."""
    shown = "".join(character if character.isprintable() else "·" for character in without_addresses(text or ""))
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def _first(part: str) -> str:
    return part[:1] if part[:1].isprintable() else "·"


def _redact(match: re.Match[str]) -> str:
    before, at, _ = match[0].partition("@")
    return f"{before[: before.rfind(':') + 1]}…@…" if at else before
