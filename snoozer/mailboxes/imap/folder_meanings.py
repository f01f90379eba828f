"""Interpret the names of folders: which are for snoozing, until when, and where snoozed messages are kept.

Pure functions over what the server listed. A folder's identity is its raw name, its meaning is its decoded levels in
NFC, without regard to case and to blanks that a person does not see.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Literal

Namespace = Literal["personal", "other", "shared"]

ROOT = "Snooze"
SNOOZED = "Snoozed"
# The name to use if the server has a snoozed folder of its own, which may refuse moves.
SNOOZED_ELSEWHERE = "Snoozed by Snoozer"
SNOOZED_ATTRIBUTE = "\\Snoozed"
MAX_NAME_LENGTH = 60
# Parents of a person's folders on servers that allow no folder at the top.
_PARENTS = ((), ("inbox",), ("folders",))
_MAX_READINGS = 30
_UNSAFE = re.compile(r"[./:\\*%\"\x00-\x1f\x7f]+")
_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})


@dataclass(frozen=True)
class Folder:
    """One folder. `name` is the raw name, which every command takes; `levels` are for people."""

    name: str
    levels: tuple[str, ...]
    delimiter: str | None
    selectable: bool = True
    special_use: frozenset[str] = frozenset()
    namespace: Namespace = "personal"


def snooze_root(folders: Iterable[Folder]) -> Folder | None:
    """The folder `Snooze`, in any case, at the top or below `INBOX` or `Folders`; if there are several, prefer our
    spelling.
    """
    return min(
        snooze_roots(folders),
        key=lambda folder: (len(folder.levels), folder.levels[-1] != ROOT, folder.name),
        default=None,
    )


def snooze_roots(folders: Iterable[Folder]) -> list[Folder]:
    """All folders called `Snooze` in an allowed place."""
    return [folder for folder in folders if folder.namespace == "personal" and _below(folder) == 0]


def snooze_folders(folders: Iterable[Folder]) -> list[Folder]:
    """Folders below a root that can hold messages."""
    return [each for each in folders if each.namespace == "personal" and each.selectable and (_below(each) or 0) > 0]


def phrases(folder: Folder) -> tuple[str, ...]:
    """The possible phrases of a folder below the root, in the order to try: the first that the time grammar accepts
    wins.

    "9" and "30" are two levels on a server whose separator is ".": they are joined as typed first, then by other signs.
    """
    below = [level for level in map(meaning_of, folder.levels[-(_below(folder) or 0) :]) if level]
    if not _below(folder) or not below:
        return ()
    typed = folder.delimiter if folder.delimiter in (".", "/") else " "
    signs = list(dict.fromkeys((typed, ":", ".", "/", " ")))
    gaps = [signs if _between_digits(*pair) else [" "] for pair in pairwise(below)]
    alike = [tuple(sign if len(gap) > 1 else " " for gap in gaps) for sign in signs]
    readings = list(dict.fromkeys([*alike, *product(*gaps)] if len(gaps) < 4 else alike))
    return tuple(dict.fromkeys(_joined(below, reading) for reading in readings))[:_MAX_READINGS]


def snoozed_folder(folders: Sequence[Folder]) -> Folder | None:
    """Our folder for snoozed messages, if it exists."""
    wanted = meaning_of(snoozed_label(folders)).casefold()
    found = [each for each in folders if _own_name(each) == wanted and each.selectable and not _is_of_the_server(each)]
    return min(found, key=lambda folder: (len(folder.levels), folder.name), default=None)


def snoozed_label(folders: Iterable[Folder]) -> str:
    """Return the name of that folder: `Snoozed`, unless the server's own folder has it."""
    taken = any(_is_of_the_server(folder) and _own_name(folder) == SNOOZED.casefold() for folder in folders)
    return SNOOZED_ELSEWHERE if taken else SNOOZED


def archive_folder(folders: Iterable[Folder]) -> Folder | None:
    """The person's archive: the folder with that use (RFC 6154), else one with that name."""
    mine = [folder for folder in folders if folder.selectable and folder.namespace == "personal"]
    by_use = [folder for folder in mine if r"\Archive" in folder.special_use]
    return next(iter([*by_use, *(folder for folder in mine if _own_name(folder) == "archive")]), None)


def label_as_name(label: str, *, delimiter: str | None) -> str | None:
    """A name that every server and mail program accepts, or None if nothing of the label is left."""
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFC", label).translate(_LETTERS))
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    if delimiter:
        plain = plain.replace(delimiter, " ")
    name = " ".join(_UNSAFE.sub(" ", plain).split())
    is_usable = name.isascii() and name[:1].isalnum() and len(name) <= MAX_NAME_LENGTH and "&" not in name
    return name if is_usable else None


def meaning_of(level: str) -> str:
    """Normalise one level: NFC, trimmed, runs of blanks as one."""
    return " ".join(unicodedata.normalize("NFC", level).split())


def same_meaning(one: str, other: str) -> bool:
    """Whether two levels look the same to a person."""
    return _folded(one) == _folded(other)


def _folded(level: str) -> str:
    return unicodedata.normalize("NFC", meaning_of(level).casefold())


def _below(folder: Folder) -> int | None:
    """How many levels below a root it lies; None outside."""
    folded = tuple(_folded(level) for level in folder.levels)
    for parent in _PARENTS:
        if folded[: len(parent) + 1] == (*parent, ROOT.casefold()):
            return len(folded) - len(parent) - 1
    return None


def _own_name(folder: Folder) -> str | None:
    """The folded name of a personal folder at the top, or below what stands for it; None for others."""
    if folder.namespace != "personal" or not folder.levels:
        return None
    *parent, name = (_folded(level) for level in folder.levels)
    return name if tuple(parent) in _PARENTS else None


def _is_of_the_server(folder: Folder) -> bool:
    return SNOOZED_ATTRIBUTE in folder.special_use


def _between_digits(before: str, after: str) -> bool:
    return before[-1].isdigit() and after[0].isdigit()


def _joined(levels: Sequence[str], signs: Sequence[str]) -> str:
    return levels[0] + "".join(sign + level for sign, level in zip(signs, levels[1:], strict=True))
