"""A message found again in the selected folder by its fingerprint.

SEARCH is a hint only: it tests for a part of the header, some servers refuse it for rare fields, and a new message may
be missing from its index. The fetched head decides.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.messages import MONTHS, Fingerprint, Head, heads, search, uids_from
from snoozer.mailboxes.imap.session import Session, quoted

# If the server's search finds nothing, how many of the newest messages to check.
MAX_LOOKED_AT = 2_000
_MAX_SEARCHED_ID = 500
# Message-IDs per search; servers must accept lines of 8,000 octets.
_IDS_AT_ONCE = 12
_DAY = timedelta(days=1)


def find(session: Session, known: Fingerprint, *, above: int = 0) -> list[int]:
    """The UIDs, not below `above`, of the messages that are this one: more than one if they cannot be distinguished.
    Messages marked as deleted do not count.
    """
    return [head.uid for head in narrowed(_looked_at(session, known, above=above), known)]


def find_each(session: Session, known: Mapping[int, Fingerprint]) -> dict[int, list[int]]:
    """As `find` for many messages, by their keys; missing messages are left out."""
    return {key: [head.uid for head in same] for key, same in heads_of_each(session, known).items()}


def heads_of_each(session: Session, known: Mapping[int, Fingerprint]) -> dict[int, Sequence[Head]]:
    """As `find_each`, with the heads."""
    found: dict[int, Sequence[Head]] = {}
    for keys, criteria in _searches(known):
        looked_at = heads(session, _searched_by(session, criteria, [known[key] for key in keys]))
        for key in keys:
            same = [head for head in looked_at if not head.deleted and is_same(head, known[key])]
            if same:
                found[key] = narrowed(same, known[key])
    return found


def has_message_id(session: Session, message_id: str) -> bool:
    """Whether there is a message with exactly this Message-ID that is not marked as deleted."""
    criteria = _by_id(message_id)
    found = heads(session, search(session, *criteria)[-MAX_LOOKED_AT:]) if criteria else []
    return any(head.message_id == message_id and not head.deleted for head in found)


def is_same(head: Head, known: Fingerprint) -> bool:
    """Whether a head may be of this message: by its Message-ID, or without one by the chosen fields."""
    if known.message_id is not None:
        return head.message_id == known.message_id
    return head.message_id is None and head.fingerprint.sha256 == known.sha256


def narrowed(found: Sequence[Head], known: Fingerprint) -> Sequence[Head]:
    """If several messages share a Message-ID, keep those matching more fields; keep all if none does."""
    for agrees in _AGREEMENTS if len(found) > 1 else ():
        closer = [head for head in found if agrees(head.fingerprint, known)]
        if closer:
            return closer
    return found


_AGREEMENTS: tuple[Callable[[Fingerprint, Fingerprint], bool], ...] = (
    lambda one, other: one == other,
    lambda one, other: (one.sha256, one.size) == (other.sha256, other.size),
    lambda one, other: (one.size, one.internaldate) == (other.size, other.internaldate),
    lambda one, other: one.sha256 == other.sha256,
)


def _looked_at(session: Session, known: Fingerprint, *, above: int) -> list[Head]:
    asked = _searched(session, known, above=above)
    found = _matching(session, asked, known, above=above)
    if found or not above:
        return found
    return _matching(session, uids_from(session, above)[-MAX_LOOKED_AT:], known, above=above)


def _matching(session: Session, uids: Sequence[int], known: Fingerprint, *, above: int) -> list[Head]:
    looked_at = heads(session, [uid for uid in uids if uid >= above])
    return [head for head in looked_at if not head.deleted and is_same(head, known)]


def _searched(session: Session, known: Fingerprint, *, above: int) -> list[int]:
    """Return UIDs from the server's search, at most the newest few thousand; empty if it refuses to search."""
    criteria = _by_id(known.message_id) if known.message_id is not None else None
    if above:
        criteria = [b"UID", b"%d:*" % above, *(criteria or _by_date(known.internaldate))]
    try:
        return search(session, *(criteria or _by_date(known.internaldate)))[-MAX_LOOKED_AT:]
    except ImapError as error:
        if error.code in ("gone", "throttled") and not session.transport.alive:
            raise
        return search(session, *_by_date(known.internaldate))[-MAX_LOOKED_AT:] if criteria else []


def _searches(known: Mapping[int, Fingerprint]) -> Iterator[tuple[list[int], list[bytes] | None]]:
    """Yield keys to search for together and their criteria; None if only their dates can be searched for."""
    by_id = {key: _by_id(each.message_id) if each.message_id is not None else None for key, each in known.items()}
    others = [key for key, criteria in by_id.items() if criteria is None]
    if others:
        yield others, None
    keys = [key for key, criteria in by_id.items() if criteria is not None]
    for start in range(0, len(keys), _IDS_AT_ONCE):
        together = keys[start : start + _IDS_AT_ONCE]
        ids = [criteria for key in together if (criteria := by_id[key]) is not None]
        # OR takes two keys: OR a OR b c (RFC 3501 §6.4.4).
        yield together, [word for each in ids[:-1] for word in (b"OR", *each)] + ids[-1]


def _searched_by(session: Session, criteria: list[bytes] | None, known: Sequence[Fingerprint]) -> list[int]:
    by_date = _by_date(min(each.internaldate for each in known), max(each.internaldate for each in known))
    try:
        return search(session, *(criteria or by_date))[-MAX_LOOKED_AT:]
    except ImapError:
        if criteria is None or not session.transport.alive:
            raise
        return search(session, *by_date)[-MAX_LOOKED_AT:]


def _by_id(message_id: str) -> list[bytes] | None:
    """None for an id that does not fit into a command."""
    if not (message_id.isascii() and message_id.isprintable() and len(message_id) <= _MAX_SEARCHED_ID):
        return None
    return [b"HEADER", b"Message-ID", quoted(message_id)]


def _by_date(first: datetime, last: datetime | None = None) -> list[bytes]:
    """The days around the dates: the server compares them in its own time zone."""
    return [b"SINCE", _day(first - _DAY), b"BEFORE", _day((last or first) + 2 * _DAY)]


def _day(date: datetime) -> bytes:
    return f"{date.day}-{MONTHS[date.month - 1]}-{date.year}".encode("ascii")
