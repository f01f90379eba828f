"""What stands in for an address where its owner's name is not needed."""

import re

# It meets each character once: a pattern of a whole address would begin anew at each of a long word without an @.
_WORD = re.compile(r"[^\s<>(),;]+")


def masked(email: str | None) -> str:
    """ "ann@example.org" as "a…@e…"; a dash for nothing."""
    if not email:
        return "–"
    local, _, domain = email.rpartition("@")
    return f"{local[:1]}…@{domain[:1]}…" if local else f"{email[:1]}…"


def without_addresses(text: str) -> str:
    """A server's reply or a person's words, with "…@…" for every address in it."""
    return _WORD.sub(_hidden, text)


def _hidden(word: re.Match[str]) -> str:
    before, at, _ = word[0].partition("@")
    return f"{before[: before.rfind(':') + 1]}…@…" if at else before
