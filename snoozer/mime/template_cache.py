"""The bodies of a mail, from templates: what stays the same in every mail is rendered and encoded once.

A template prints words and asks whether they are there, nothing else. So all mails that have the same words have the
same lines, and only the lines around a word are written anew. No word is ever kept.
"""

import binascii
import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from snoozer.resources import resource_folder

TEMPLATES = Environment(
    loader=FileSystemLoader(resource_folder("templates") / "emails"),
    autoescape=select_autoescape(disabled_extensions=("txt",), default=True, default_for_string=True),
    undefined=StrictUndefined,
    auto_reload=False,
    trim_blocks=True,
    lstrip_blocks=True,
)

# Characters.
SHORT = 100

_MARK = re.compile("\0([a-z_]+)\0")
_MARKUP = re.compile("[&<>'\"]")
_escaped = TEMPLATES.filters["escape"]


def render_qp(template: str, words: Mapping[str, str]) -> bytes:
    """The template with its words, in quoted-printable. "" is a word that is not there.

    Words are escaped in HTML. The lines of a word stay lines: `<br>` in HTML, two spaces in front of each in text.
    """
    if template.endswith(".html"):
        shown = {name: _in_html(word) for name, word in words.items()}
    else:
        shown = {name: word.replace("\n", "\n  ") for name, word in words.items()}
    missing = tuple([name for name, word in words.items() if not word])
    return b"\r\n".join(
        [
            piece if isinstance(piece, bytes) else quoted_printable(piece.format_map(shown))
            for piece in _cut(template, tuple(words), missing)
        ]
    )


def quoted_printable(text: str) -> bytes:
    """Lines of at most 76 characters with CRLF between them (RFC 2045 §6.7)."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Over a line's end, b2a_qp encodes a blank before it without looking at how long the line is.
    parts = text.split("\n") if " \n" in text or "\t\n" in text else [text]
    return b"\r\n".join([_encoded(part) for part in parts])


def _encoded(text: str) -> bytes:
    return binascii.b2a_qp(text.encode("utf-8", "replace"), istext=True).replace(b"\n", b"\r\n")


def _in_html(word: str) -> str:
    # Most words mean nothing in HTML, and markup would make an object of each.
    escaped = str(_escaped(word)) if _MARKUP.search(word) else word
    return escaped.replace("\n", "<br>")


@lru_cache(maxsize=32)
def _cut(template: str, names: tuple[str, ...], missing: tuple[str, ...]) -> tuple[bytes | str, ...]:
    """The template with blanks for words: long stretches without one, already encoded; formats for what lies between.

    Encoding a few bytes more costs less than encoding them apart.
    """
    marks = {name: "" if name in missing else f"\0{name}\0" for name in names}
    lines = TEMPLATES.get_template(template).render(marks).rstrip("\n").split("\n")
    stretches = [(changes, list(stretch)) for changes, stretch in groupby(lines, key=lambda line: "\0" in line)]
    kept = groupby(stretches, key=lambda one: not one[0] and sum(map(len, one[1])) > SHORT)
    pieces: list[bytes | str] = []
    for ready, parts in kept:
        text = "\n".join(line for _, stretch in parts for line in stretch)
        pieces.append(quoted_printable(text) if ready else _format(text))
    return tuple(pieces)


def _format(text: str) -> str:
    return _MARK.sub(r"{\1}", text.replace("{", "{{").replace("}", "}}"))
