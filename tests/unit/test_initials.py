"""Initials are of the sender's name in its own script, and never more than two letters."""

from types import SimpleNamespace

import pytest

from snoozer.web.text.initials import TONES, initials, tone


@pytest.mark.parametrize(
    ("name", "email", "expected"),
    [
        ("Ann Lee", "ann@mail.example", "AL"),
        ("anna maria von berg", None, "AB"),
        (None, "billing@mail.example", "B"),
        ("Северин Окунь", None, "СО"),
        ("王小明", None, "王"),
        ("יעל כהן", None, "י"),
        ("ßeta straße", None, "ßS"),
        ("\u202e⚡ (Support)", None, "S"),
        ("🎉", "party@mail.example", "?"),
        (None, None, "?"),
        (None, "@", "?"),
    ],
)
def test_a_sender_has_initials(name: str | None, email: str | None, expected: str) -> None:
    assert initials(SimpleNamespace(sender_name=name, sender_email=email)) == expected


def test_a_sender_has_the_same_tone_wherever_it_is_shown() -> None:
    listed = SimpleNamespace(sender_name="Ann Lee", sender_email="Ann@mail.example")
    without_name = SimpleNamespace(sender_email="ann@mail.example")
    assert tone(listed) == tone(without_name)
    assert 0 <= tone(SimpleNamespace(sender_email=None)) < TONES
