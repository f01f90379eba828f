"""Extracts the text of an S/MIME message with an opaque signature (RFC 8551 §3.5.2), which needs no key.

The parser follows only the path to the content in the CMS structure (RFC 5652), in DER or in BER with indefinite
lengths.
"""

_SIGNED_DATA = bytes.fromhex("2a864886f70d010702")
_DATA = bytes.fromhex("2a864886f70d010701")
_OID, _OCTETS, _SEQUENCE, _EXPLICIT = 0x06, 0x04, 0x30, 0xA0
_CONSTRUCTED = 0x20
# Mail programs write pieces of 1,000 octets and more.
MAX_PIECES = 50_000


def signed_content(data: bytes) -> bytes | None:
    """The signed MIME entity; None if there is none, because it is encrypted or the signature is detached."""
    try:
        position = _inside(data, 0, _SEQUENCE)
        position = _inside(data, _behind(data, position, _SIGNED_DATA), _EXPLICIT)
        position = _inside(data, position, _SEQUENCE)
        # Skip the version and the algorithms.
        position = _skipped(data, _skipped(data, position))
        position = _inside(data, position, _SEQUENCE)
        position = _inside(data, _behind(data, position, _DATA), _EXPLICIT)
        return _octets(data, position)
    except (IndexError, ValueError):
        return None


def _element(data: bytes, position: int) -> tuple[int, int, int | None]:
    """The tag at `position`, the start of its content, and its length; None if the length is indefinite."""
    tag, length = data[position], data[position + 1]
    if length < 0x80:
        return tag, position + 2, length
    count = length & 0x7F
    start = position + 2 + count
    return tag, start, int.from_bytes(data[position + 2 : start], "big") if count else None


def _inside(data: bytes, position: int, expected: int) -> int:
    tag, start, _ = _element(data, position)
    if tag != expected:
        raise ValueError("another structure")
    return start


def _skipped(data: bytes, position: int) -> int:
    _, start, length = _element(data, position)
    if length is None:
        raise ValueError("of unknown length")
    return start + length


def _behind(data: bytes, position: int, oid: bytes) -> int:
    start = _inside(data, position, _OID)
    if not data.startswith(oid, start):
        raise ValueError("another type")
    return start + len(oid)


def _octets(data: bytes, position: int) -> bytes:
    """A string in one piece or in several, even if it is truncated; up to MAX_PIECES of them."""
    tag, start, length = _element(data, position)
    end = len(data) if length is None else start + length
    if tag == _OCTETS:
        return data[start:end]
    if tag != _OCTETS | _CONSTRUCTED:
        raise ValueError("no string")
    pieces: list[bytes] = []
    while start + 1 < min(end, len(data)) and data[start] == _OCTETS and len(pieces) < MAX_PIECES:
        following = _skipped(data, start)
        pieces.append(data[_inside(data, start, _OCTETS) : following])
        start = following
    return b"".join(pieces)
