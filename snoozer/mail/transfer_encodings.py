"""Decodes bodies from their declared transfer encoding, if they really use it."""

import binascii
import re
from collections.abc import Iterator

from snoozer.mail.headers import decode_base64

# A soft line break with blanks after its mark.
_SOFT_BREAK = re.compile(rb"=[ \t]+(?=\r?\n)")
_ESCAPE = re.compile(rb"=([0-9A-Fa-f]{2})")
_NO_ESCAPE = re.compile(rb"=(?![0-9A-Fa-f]{2}|[ \t]*\r?(?:\n|\Z))")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2}")
# A message of the largest size has fewer, in the lines of any encoder. Each line is an object of Python: 25 MB of
# short ones took two seconds and a gigabyte.
_MAX_LINES = 500_000
# The beginning of a body that is enough to detect whether it is base64.
_SAMPLE_LINES, _SAMPLE_BYTES = 1_000, 65_536


def decode_body(body: bytes, encoding: str) -> bytes:
    """Ignores an encoding that is unknown, or that the body does not use."""
    if "base64" in encoding:
        return _from_base64(body)
    if "quoted" in encoding and "printable" in encoding:
        return binascii.a2b_qp(_SOFT_BREAK.sub(b"=", body, count=_MAX_LINES))
    if encoding.strip("\"' .") in {"x-uuencode", "uuencode", "x-uue", "uue"}:
        return _from_uuencode(body)
    return body


def is_quoted_printable(body: bytes, encoding: str) -> bool:
    """Whether a body that is declared so really is quoted-printable: each "=" begins an escape or ends a line, and not
    all escapes are of control characters, which "size=08" is not meant to be."""
    if "quoted" not in encoding or "printable" not in encoding:
        return False
    if _NO_ESCAPE.search(body):
        return False
    codes = (bytes.fromhex(escape.decode()) for escape in _ESCAPE.findall(body))
    return b"=\n" in body or b"=\r\n" in body or any(not _CONTROLS.match(code) for code in codes)


def _from_base64(body: bytes) -> bytes:
    """Decodes up to the first line that is not base64; a body without base64 is returned unchanged."""
    filled = [line for each in _lines(body) if (line := each.strip())]
    if not filled:
        return b""
    if not _BASE64_LINE.fullmatch(filled[0]) or len(filled[0]) % 4:
        sample = b"\n".join(filled[:_SAMPLE_LINES])[:_SAMPLE_BYTES].split(b"\n")
        letters = sum(len(line) for line in sample)
        others = letters - sum(len(run) for line in sample for run in _BASE64_LINE.findall(line))
        if others * 6 > letters or any(b" " in line for line in filled[:2]):
            return body
    content = b"".join(decode_base64(piece) for piece in _encoded_pieces(filled))
    is_short_and_odd = len(filled) == 1 and not _BASE64_LINE.fullmatch(filled[0])
    return body if is_short_and_odd and _CONTROLS.search(content) else content


def _lines(body: bytes) -> list[bytes]:
    """The lines of a body; more than `_MAX_LINES` are joined into one."""
    if body.count(b"\n") + body.count(b"\r") <= 2 * _MAX_LINES:
        return body.splitlines()
    return [body.translate(None, b"\r\n")]


def _encoded_pieces(lines: list[bytes]) -> Iterator[bytes]:
    """The base64 of a body, padded in the middle if a program encoded it in pieces, without the text after it."""
    piece: list[bytes] = []
    ended = False
    for line in lines:
        if (ended or b" " in line) and not _BASE64_LINE.fullmatch(line):
            break
        ended = b"=" in line
        piece.append(line.partition(b"=")[0])
        if ended:
            yield b"".join(piece)
            piece.clear()
    yield b"".join(piece)


def _from_uuencode(body: bytes) -> bytes:
    _, begin, encoded = body.partition(b"\nbegin ")
    if not begin and not body.startswith(b"begin "):
        return body
    out = bytearray()
    for line in _lines(encoded or body)[1:]:
        if line.strip() in {b"end", b"`", b""}:
            break
        try:
            out += binascii.a2b_uu(line)
        except binascii.Error:
            break
    return bytes(out)
