"""What a stranger calls a charset."""

import encodings

import pytest

from snoozer.mail.charsets import text_of


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("ISO-8859-1", b"caf\xe9 \x80", "café €"),
        ("'utf-8'", "é".encode(), "é"),
        ("KS_C_5601-1987", b"\xbd\xba", "스"),
        ("ansi_x3.4-1968", b"x", "x"),
        ("unicode_escape", rb"\x41", r"\x41"),
        ("raw-unicode-escape", rb"\u0041", r"\u0041"),
        ("zlib", b"x", "x"),
        ("nonsense", "é".encode(), "é"),
    ],
)
def test_a_name_is_understood_or_guessed(name: str, data: bytes, text: str) -> None:
    assert text_of(data, name) == text


def test_names_that_nobody_knows_are_not_remembered() -> None:
    remembered = encodings._cache
    text_of(b"x", "utf-8")
    before = len(remembered)
    for number in range(100):
        text_of(b"x", f"no-such-{number}")
        text_of(b"x", "utf" + "-" * number + "8")
    assert len(remembered) == before
