"""Links in the text of a message. The visible text is the target itself; an address that could be displayed as another
one is not linked."""

import re
import unicodedata
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address
from typing import NamedTuple

import idna

MAX_LENGTH = 2_000
MAX_LINKS = 500

# Without IGNORECASE, which matches "ſ" as an s. Quotes of any language end an address, as do full stops of scripts that
# put no space after them.
_ADDRESS = re.compile(r"(?<![^\W_])[Hh][Tt][Tt][Pp][Ss]?://[^\s<>\"`“”„«»‹›。、，；：！？「」『』【】《》（）]+")
_PARTS = re.compile(r"([A-Za-z]+://)([^/?#:]+)((?::[0-9]{1,5})?)((?:[/?#].*)?)", re.DOTALL)
_LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"(?:{_LABEL}\.)*({_LABEL})\.?")
# Labels that browsers read as a number, and so as an address in another notation: 0x7f.1 is 127.0.0.1.
_NUMBER = re.compile("[0-9]+|0[xX][0-9A-Fa-f]*")
_MAX_HOST_LENGTH = 253
_MAX_PORT = 65_535

_TRAILING = frozenset(".,;:!?'*’…|")
_BRACKETS = {")": "(", "]": "[", "}": "{"}
# Letters and marks without a visible sign; characters of the category Cf are refused as well.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})


class Piece(NamedTuple):
    """A part of a text; with `url` a link to it, equal to `text` except for an international host. `host` is its ASCII
    form, to be shown next to it: its letters may look like others."""

    text: str
    url: str | None = None
    host: str | None = None


def web_links(text: str) -> Iterator[Piece]:
    """Yields the text in pieces, of which nothing is left out or changed."""
    end = links = 0
    for found in _ADDRESS.finditer(text):
        link = _link(found.group()) if links < MAX_LINKS else None
        if link is not None:
            if found.start() > end:
                yield Piece(text[end : found.start()])
            yield link
            end = found.start() + len(link.text)
            links += 1
    if end < len(text):
        yield Piece(text[end:])


def _link(address: str) -> Piece | None:
    """None for an address that is displayed differently than a browser opens it, or that no browser opens."""
    if len(address) > MAX_LENGTH:
        return None
    address = _without_punctuation(address)
    parts = _PARTS.fullmatch(address)
    if parts is None or not _is_shown_as_it_is(address):
        return None
    scheme, host, port, rest = parts.groups()
    if port and int(port[1:]) > _MAX_PORT:
        return None
    if host.isascii():
        return Piece(address, address) if _is_host(host) else None
    ascii_host = _ascii_host(host)
    return None if ascii_host is None else Piece(address, f"{scheme}{ascii_host}{port}{rest}", ascii_host)


def _without_punctuation(address: str) -> str:
    """Strips the punctuation of the surrounding sentence; a bracket stays if its pair is in the address."""
    more = {close: address.count(close) - address.count(open) for close, open in _BRACKETS.items()}
    end = len(address)
    while (last := address[end - 1]) in _TRAILING or more.get(last, 0) > 0 or unicodedata.category(last) == "Cf":
        if last in more:
            more[last] -= 1
        end -= 1
    return address[:end]


def _is_shown_as_it_is(address: str) -> bool:
    """Whether each character is visible, in its place, and interpreted by browsers as itself: they read a backslash as
    a slash. Right-to-left letters change places with their neighbours."""
    if address.isascii():
        return address.isprintable() and "\\" not in address
    return (
        address.isprintable()
        and "\\" not in address
        and not _UNSEEN.search(address)
        and not any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in address)
    )


def _is_host(host: str) -> bool:
    found = _HOST.fullmatch(host)
    if found is None or len(host) > _MAX_HOST_LENGTH:
        return False
    if not _NUMBER.fullmatch(found.group(1)):
        return True
    try:
        return str(IPv4Address(host)) == host
    except AddressValueError:
        return False


def _ascii_host(host: str) -> str | None:
    """The host in IDNA 2008; None if it has no such form, or a browser might read it in another way."""
    try:
        written = idna.encode(host).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        return None
    return written if _is_host(written) and idna.decode(written) == host else None
