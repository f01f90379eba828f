"""What stands in for an address where its owner's name is not needed."""

import re

_ADDRESS = re.compile(r"[^\s<>(),;:@]*@[^\s<>(),;@]*")


def masked(email: str | None) -> str:
    """ "ann@example.org" as "a…@e…"; a dash for nothing."""
    if not email:
        return "–"
    local, _, domain = email.rpartition("@")
    return f"{local[:1]}…@{domain[:1]}…" if local else f"{email[:1]}…"


def without_addresses(text: str) -> str:
    """A server's reply or a person's words, with "…@…" for every address in it."""
    return _ADDRESS.sub("…@…", text)
