"""Charset names as messages declare them."""

import encodings

import pytest

from snoozer.mime.charsets import decode_bytes


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
    assert decode_bytes(data, name) == text


def test_unknown_names_are_not_cached() -> None:
    cache = encodings._cache
    decode_bytes(b"x", "utf-8")
    before = len(cache)
    for number in range(100):
        decode_bytes(b"x", f"no-such-{number}")
        decode_bytes(b"x", "utf" + "-" * number + "8")
    assert len(cache) == before
