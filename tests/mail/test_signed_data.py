"""The text of S/MIME messages with an opaque signature, in pieces."""

from snoozer.mail.signed_data import MAX_PIECES, signed_content

# A ContentInfo with SignedData, in BER with indefinite lengths, as far as the pieces of its content.
HEAD = bytes.fromhex("308006092a864886f70d010702a08030800201013100308006092a864886f70d010701a0802480")


def pieces(count: int, *, text: bytes = b"x") -> bytes:
    return HEAD + (b"\x04" + bytes([len(text)]) + text) * count + bytes(14)


def test_pieces_are_joined() -> None:
    assert signed_content(pieces(3, text=b"lease ")) == b"lease lease lease "


def test_a_content_in_very_many_pieces_is_cut() -> None:
    """A megabyte of them took a fifth of a second of CPU each time it was shown."""
    assert signed_content(pieces(MAX_PIECES + 5)) == b"x" * MAX_PIECES
