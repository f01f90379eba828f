"""MAIL_FROM: one address, so that what is sent is what was meant."""

import pytest

from snoozer.mail import headers


@pytest.mark.parametrize(
    "right",
    [
        "snoozer@snoozer.example",
        "<snoozer@snoozer.example>",
        "Snoozer <snoozer@snoozer.example>",
        '"Snoozer, Inc." <snoozer@snoozer.example>',
        "Schlummer für alle <snoozer@snöözer.example>",
        "snoozer@localhost",
    ],
)
def test_one_address_is_taken(right: str) -> None:
    headers.validate_mail_from(right)
    assert headers.message_id(f"<1@{headers.mail_from_domain(right)}>") is not None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("", "is not set"),
        ("  ", "is not set"),
        ("snoozer", "is not an address"),
        ("snoozer@", "is not an address"),
        ("Snoozer snoozer@snoozer.example", "is not an address"),
        ("snöözer@snoozer.example", "is not an address"),
        ("a@b.example\nBcc: eve@evil.example", "characters that no address has"),
        ("a@b.example, c@d.example", "more than one address"),
        ("Snoozer <a@b.example>, Other <c@d.example>", "more than one address"),
        ("Snoozer, Inc. <a@b.example>", "a name with a comma goes into quotes"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(wrong: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        headers.validate_mail_from(wrong)
