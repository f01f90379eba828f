"""Addresses are redacted in any text, however they are written and however long it is."""

import pytest

from snoozer.web.text import redaction


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("550 <ann@example.org> unknown", "550 <…@…> unknown"),
        ("ann@example.org, bob@example.org; (carl@x)", "…@…, …@…; (…@…)"),
        ("smtp:ann@example.org:25 is full", "smtp:…@… is full"),
        ("a@b@c", "…@…"),
        ("a@b:c@d", "…@…"),
        ("@", "…@…"),
        ("rfc822;ann@example.org", "rfc822;…@…"),
        ("450 4.2.1 Try: later", "450 4.2.1 Try: later"),
        ("line\none@x\ttwo", "line\n…@…\ttwo"),
        ("", ""),
    ],
)
def test_no_address_is_left(text: str, redacted: str) -> None:
    assert redaction.without_addresses(text) == redacted


def test_the_time_for_a_long_word_is_linear() -> None:
    """A pattern that restarts at each character of a word without an @ would not end here."""
    long = f"+{5_000_000 * 'a'}"
    assert redaction.without_addresses(f"{long} {long}@x") == f"{long} …@…"
