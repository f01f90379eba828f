"""Search of a folder, asked of its server: terms as criteria of RFC 3501 §6.4.4.

A person's text is sent quoted, or as a literal: it is never part of the command.
"""

import re
from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import Literal

from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.messages import search
from snoozer.mailboxes.imap.session import MAX_NUMBER, Reply, Session, quoted
from snoozer.mailboxes.search_terms import Term

Field = Literal["text", "from", "subject"]
FIELDS: dict[str, Field] = {"": "text", "from": "from", "subject": "subject"}

_UID_SETS = re.compile(rb"\bALL ([0-9:,]+)", re.IGNORECASE)
_RANGE = re.compile(rb"([0-9]{1,10})(?::([0-9]{1,10}))?")


def uids(session: Session, terms: Sequence[Term[Field]], *, below: int | None, most: int) -> list[int]:
    """The newest UIDs in the selected folder, under `below`, of messages that meet all terms, ascending. Raises
    ImapError."""
    criteria = [b"UNDELETED"]
    if below is not None:
        criteria += [b"UID", b"1:%d" % max(below - 1, 1)]
    for term in terms:
        criteria += [term.field.upper().encode("ascii"), quoted(term.text)]
    if not all(term.text.isascii() for term in terms):
        criteria = [b"CHARSET", b"UTF-8", *criteria]
    has_ranges = session.has_capability("ESEARCH")
    found = _extended(session, criteria, below=below, most=most) if has_ranges else None
    found = search(session, *criteria) if found is None else found
    return [uid for uid in found if below is None or uid < below][-most:]


def _extended(session: Session, criteria: list[bytes], *, below: int | None, most: int) -> list[int] | None:
    """Return UIDs from ranges (RFC 4731), so that 100,000 hits are a short reply. None if the server did not reply in
    ranges.
    """
    reply = session.run("SEARCH", b"RETURN", b"(ALL)", *criteria, uid=True)
    if not reply.ok:
        raise ImapError.from_reply("refused to search", reply.text)
    return newest(reply, below=below, most=most) if "ESEARCH" in reply.untagged else None


def newest(reply: Reply, *, below: int | None, most: int) -> list[int]:
    """The newest UIDs of a reply in ranges, under `below`, ascending. At most `most` are expanded, because a reply of
    some bytes may stand for billions."""
    top = MAX_NUMBER if below is None else min(below - 1, MAX_NUMBER)
    found: set[int] = set()
    for high, low in nlargest(most, _ranges(reply, top=top)):
        found.update(range(max(low, high - most + 1), high + 1))
    return sorted(found)[-most:]


def _ranges(reply: Reply, *, top: int) -> Iterator[tuple[int, int]]:
    """The end and the beginning of each range, none above `top`."""
    for row in reply.untagged["ESEARCH"]:
        for uid_set in _UID_SETS.findall(row if isinstance(row, bytes) else b""):
            for one, other in _RANGE.findall(uid_set):
                low, high = sorted((int(one), int(other or one)))
                if 0 < low <= top:
                    yield min(high, top), low
