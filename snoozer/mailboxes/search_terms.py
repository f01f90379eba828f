"""Parse a person's search: words, phrases in quotes, and either after a field name and a colon."""

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

F = TypeVar("F", bound=str)

MAX_TERMS = 8
MAX_TERM_LENGTH = 100


@dataclass(frozen=True)
class Term(Generic[F]):
    """A text to match in one field. `text` is empty only in a field that may stand alone."""

    field: F
    text: str


@dataclass(frozen=True)
class OpenTerm:
    """The term that is being typed at the end of a text, as it was typed: `before` is all that stands before it, `name`
    that of a field or "", `comparison` is `<`, `>` or "", and `text` the rest without its quotation mark."""

    before: str
    name: str
    comparison: str
    text: str


def parse(typed: str, fields: Mapping[str, F], *, alone: Collection[str] = ()) -> list[Term[F]]:
    """Returns the terms in their order. `fields` has the field of each name, that of a word without one under "". The
    names in `alone` need no text behind their colon; any other name without one is a word. Behind a name, `<` or `>`
    before a phrase is a part of its text."""
    names = "|".join(filter(None, fields))
    term = re.compile(rf'(?:({names}):([<>]?))?(?:"([^"]*)"?|(\S+))', re.IGNORECASE)
    plain = "".join(" " if unicodedata.category(char)[0] == "C" else char for char in typed)
    found = []
    for name, comparison, phrase, word in term.findall(unicodedata.normalize("NFC", plain)):
        text = comparison + " ".join((phrase or word).split())[:MAX_TERM_LENGTH]
        if not name and word.endswith(":") and word[:-1].lower() in alone:
            found.append(Term(fields[word[:-1].lower()], ""))
        elif text.strip('"') or name.lower() in alone:
            found.append(Term(fields[name.lower()], text))
    return found


def open_term(typed: str, names: Collection[str]) -> OpenTerm:
    """Returns the term at the end of the typed text; an empty one after a space or a closed phrase."""
    term = re.compile(rf'({"|".join(names)}):([<>]?)(?:"([^"]*)("?)|(\S*))|"([^"]*)("?)|(\S+)', re.IGNORECASE)
    for found in term.finditer(typed):
        name, comparison, phrase, closed, word, bare_phrase, bare_closed, bare_word = (
            group or "" for group in found.groups()
        )
        if found.end() == len(typed) and not (closed or bare_closed):
            text = phrase or word or bare_phrase or bare_word
            return OpenTerm(before=typed[: found.start()], name=name.lower(), comparison=comparison, text=text)
    return OpenTerm(before=typed, name="", comparison="", text="")
