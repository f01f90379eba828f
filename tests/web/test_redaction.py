"""Addresses are hidden in whatever a server or a person wrote, however it was written and however long it is."""

import pytest

from snoozer.web.text import redaction


@pytest.mark.parametrize(
    ("said", "shown"),
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
def test_no_address_is_left(said: str, shown: str) -> None:
    assert redaction.without_addresses(said) == shown


def test_a_long_word_is_gone_through_once() -> None:
    long = f"+{60_000 * 'a'}"
    assert redaction.without_addresses(f"{long} {long}@x") == f"{long} …@…"
    assert redaction._WORD.findall(f"{long} {long}@x") == [long, f"{long}@x"]
