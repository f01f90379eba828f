"""The bodies of a mail, from templates: what stays the same in every mail is rendered and encoded once.

A template prints words and asks whether they are there, nothing else. So all mails that have the same words have the
same lines, and only the lines in which a word stands are written anew. No word is ever kept.
"""

import binascii
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from snoozer.shipped import folder

TEMPLATES = Environment(
    loader=FileSystemLoader(folder("templates") / "emails"),
    autoescape=select_autoescape(disabled_extensions=("txt",), default=True, default_for_string=True),
    undefined=StrictUndefined,
    auto_reload=False,
    trim_blocks=True,
    lstrip_blocks=True,
)

_MARK = re.compile("\0([a-z_]+)\0")
_escaped = TEMPLATES.filters["escape"]


def printed(template: str, words: Mapping[str, str]) -> bytes:
    """The template with its words, in quoted-printable. "" is a word that is not there.

    Words are escaped in HTML. The lines of a word stay lines: `<br>` in HTML, two spaces in front of each in text.
    """
    if template.endswith(".html"):
        shown = {name: str(_escaped(word)).replace("\n", "<br>") for name, word in words.items()}
    else:
        shown = {name: word.replace("\n", "\n  ") for name, word in words.items()}
    blanks = tuple((name, bool(word)) for name, word in words.items())
    return b"\r\n".join(
        piece if isinstance(piece, bytes) else quoted_printable(piece.format_map(shown))
        for piece in _cut(template, blanks)
    )


def quoted_printable(text: str) -> bytes:
    """Lines of at most 76 characters with CRLF between them (RFC 2045 §6.7)."""
    if "\n" not in text and "\r" not in text:
        return _encoded(text)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return b"\r\n".join([_encoded(line) for line in lines])


def _encoded(line: str) -> bytes:
    return binascii.b2a_qp(line.encode("utf-8", "replace"), istext=True).replace(b"\n", b"\r\n")


@lru_cache(maxsize=32)
def _cut(template: str, blanks: tuple[tuple[str, bool], ...]) -> tuple[bytes | str, ...]:
    """The template with blanks for words: stretches without one, already encoded, and each line with one, a format."""
    marks = {name: f"\0{name}\0" if there else "" for name, there in blanks}
    lines = TEMPLATES.get_template(template).render(marks).rstrip("\n").split("\n")
    pieces: list[bytes | str] = []
    for changes, stretch in groupby(lines, key=lambda line: "\0" in line):
        if changes:
            pieces += [_MARK.sub(r"{\1}", line.replace("{", "{{").replace("}", "}}")) for line in stretch]
        else:
            pieces.append(quoted_printable("\n".join(stretch)))
    return tuple(pieces)
