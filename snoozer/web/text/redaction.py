"""Redaction of mail addresses in texts for operators and programs."""

import re

# Linear: a pattern of a whole address would restart at each character of a long word without an @.
_WORD = re.compile(r"[^\s<>(),;]+")


def masked(email: str | None) -> str:
    """Returns "a…@e…" for "ann@example.org", a dash for None."""
    if not email:
        return "–"
    local, _, domain = email.rpartition("@")
    return f"{local[:1]}…@{domain[:1]}…" if local else f"{email[:1]}…"


def without_addresses(text: str) -> str:
    """Returns the text with "…@…" for every address in it."""
    return _WORD.sub(_redact, text)


def _redact(match: re.Match[str]) -> str:
    before, at, _ = match[0].partition("@")
    return f"{before[: before.rfind(':') + 1]}…@…" if at else before
