"""Media types and parameters of header fields such as Content-Type, even if they are badly formed."""

import re
from urllib.parse import unquote_to_bytes

from snoozer.mail.charsets import decode_bytes

_PARAMETER = re.compile(r";\s*([^\s=;]+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|[^;]*)", re.DOTALL)
# Without the semicolon in front, or after a comment.
_LOOSE_PARAMETER = r"(?<![\w.-]){}\s*=\s*(\"[^\"]*\"|[^\s;,\"]+)"
_COMMENTS = r"(?:\([^()]*\)\s*)*"
_TYPE = re.compile(rf"\s*{_COMMENTS}[\"']?([\w.+-]+)\s*/\s*{_COMMENTS}([\w.+-]+)", re.ASCII)
# In a value that does not begin with its type: "Content-Type: Content-Type: application/pdf".
_TYPE_INSIDE = re.compile(
    r"\b((?:application|audio|font|image|message|model|multipart|text|video)\s*/\s*[\w.+-]+)", re.ASCII | re.IGNORECASE
)
# Values that are one word, so that text after a blank does not belong to them.
_ONE_WORD = frozenset({"charset", "format", "delsp"})


def media_type(value: str) -> str | None:
    """The media type that a Content-Type declares, in lower case; None if it declares none."""
    if found := _TYPE.match(value):
        return f"{found.group(1)}/{found.group(2)}".lower()
    inside = _TYPE_INSIDE.search(value[:1_000].partition(";")[0])
    return "".join(inside.group(1).split()).lower() if inside else None


def find(value: str, name: str) -> str | None:
    """A parameter such as charset, RFC 2231 pieces joined and decoded."""
    pieces: dict[int, tuple[bool, str]] = {}
    for key, text in _PARAMETER.findall(value):
        base, _, number = key.lower().partition("*")
        digits = number.rstrip("*")
        if base == name:
            index = int(digits) if digits.isdecimal() and len(digits) < 4 else 0
            pieces.setdefault(index, (key[-1] == "*", _unquoted(text)))
    if not pieces and (loose := re.search(_LOOSE_PARAMETER.format(re.escape(name)), value, re.IGNORECASE)):
        pieces[0] = (False, _unquoted(loose.group(1)))
    if not pieces:
        return None
    joined = _joined([pieces[index] for index in sorted(pieces)])
    return re.split(r"[\s,(]", joined, maxsplit=1)[0] if name in _ONE_WORD else joined


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] == '"':
        # Other backslashes are literal, as in C:\TEMP.
        return re.sub(r"\\([\\\"])", r"\1", value[1:-1])
    return value.strip('"') if value.count('"') == 1 else value


def _joined(pieces: list[tuple[bool, str]]) -> str:
    if not pieces[0][0]:
        return "".join(value for _, value in pieces)
    charset, _, rest = pieces[0][1].partition("'")
    first = rest.partition("'")[2]
    raw = b"".join(
        unquote_to_bytes(value.encode("utf-8", "surrogateescape"))
        if starred
        else value.encode("utf-8", "surrogateescape")
        for starred, value in [(True, first), *pieces[1:]]
    )
    return decode_bytes(raw, charset)
