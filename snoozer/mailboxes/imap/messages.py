"""Messages of the selected folder: their heads, and fingerprints to find one again elsewhere. None is
marked as read."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.parser import BytesHeaderParser
from hashlib import sha256
from logging import getLogger
from typing import Any

from snoozer.mail.headers import every_id
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.session import MAX_NUMBER, Session, as_literal, fetched, quoted, reading

log = getLogger(__name__)

# Messages per command, so a lost reply affects few and lines stay short.
BATCH = 200
DELETED = r"\Deleted"
SEEN = r"\Seen"
FLAGGED = r"\Flagged"
# Registered by RFC 9979: to be shown more prominently, because of a recent act such as the end of a snooze.
RETURNED = "$new"

_FIELDS = ("Date", "From", "Subject", "Message-ID", "To", "References", "In-Reply-To")
# The fields that mail programs and servers keep when they append a copy of a message.
_FINGERPRINTED = _FIELDS[:5]
# A header may have megabytes; a fingerprint needs no more than this.
_MAX_HEADER_BYTES = 65_536
# Largest value allowed (63 bits, RFC 9051).
MAX_SIZE = 2**63 - 1
HEAD_ITEMS = (
    f"(UID FLAGS RFC822.SIZE INTERNALDATE "
    f"BODY.PEEK[HEADER.FIELDS ({' '.join(_FIELDS).upper()})]<0.{_MAX_HEADER_BYTES}>)"
).encode()
_MESSAGE_ID = re.compile(rb"<[^<>\x00-\x1f\x7f]{1,998}>")
_FOLDS = re.compile(rb"\r?\n(?=[ \t])")
_BLANKS = re.compile(rb"\s+")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Fingerprint:
    """The marks to find a message again after other programs have moved it. `sha256` is over chosen header fields."""

    message_id: str | None
    sha256: str
    size: int
    internaldate: datetime


@dataclass(frozen=True)
class Head:
    """A message without its body. Header fields are raw, for `snoozer.mail.headers`; `message_id` has its brackets.
    `own_id` is the Message-ID by which replies name the message, even if it was written without brackets."""

    uid: int
    message_id: str | None
    references: bytes | None
    in_reply_to: bytes | None
    subject: bytes | None
    sender: bytes | None
    size: int
    internaldate: datetime
    flags: frozenset[str]
    fingerprint: Fingerprint
    own_id: str | None

    @property
    def deleted(self) -> bool:
        """Whether some program marked it to be expunged: its owner regards it as gone."""
        return DELETED.lower() in {flag.lower() for flag in self.flags}


@dataclass(frozen=True)
class HeaderFields:
    """Chosen header fields of a message, as they are written, and when it came in."""

    uid: int
    internaldate: datetime
    header: bytes


def heads(session: Session, uids: Iterable[int]) -> list[Head]:
    """The heads of the messages that exist, in the order of their UIDs."""
    found: list[Head] = []
    for batch in batches(uids):
        found += _heads_of(session, batch)
    return sorted(found, key=lambda head: head.uid)


def _heads_of(session: Session, batch: Sequence[int]) -> list[Head]:
    found = _fetch_each(session, batch, HEAD_ITEMS)
    with reading():
        return [head_of(uid, values) for uid, values in found if is_head(values)]


def header_fields(session: Session, uids: Iterable[int], names: Collection[str]) -> list[HeaderFields]:
    """The header fields of the messages that exist, in the order of their UIDs."""
    chosen = f"(UID INTERNALDATE BODY.PEEK[HEADER.FIELDS ({' '.join(names).upper()})]<0.{_MAX_HEADER_BYTES}>)".encode()
    found = [
        HeaderFields(uid, _internaldate_of(values), _header_of(values) or b"")
        for batch in batches(uids)
        for uid, values in _fetch_each(session, batch, chosen)
    ]
    return sorted(found, key=lambda fields: fields.uid)


def _fetch_each(session: Session, batch: Sequence[int], items: bytes) -> list[tuple[int, dict[bytes, Any]]]:
    """Fetch a batch; leave out only a broken message that the server cannot show, not the others with it."""
    reply = session.run("FETCH", uid_set(batch), items, uid=True)
    if reply.ok:
        wanted = frozenset(batch)
        return [(uid, values) for uid, values in fetched(reply).items() if uid in wanted]
    error = ImapError.from_reply("refused to show messages", reply.text)
    if error.code != "protocol":
        raise error
    if len(batch) == 1:
        log.warning("the mail server refused to show a message: it is left out")
        return []
    half = len(batch) // 2
    return _fetch_each(session, batch[:half], items) + _fetch_each(session, batch[half:], items)


def unread(session: Session, uids: Iterable[int]) -> set[int]:
    """Return the UIDs of unread messages in the selected folder."""
    found: set[int] = set()
    for batch in batches(uids):
        found |= set(search(session, b"UNSEEN", b"UNDELETED", b"UID", uid_set(batch))) & set(batch)
    return found


def existing(session: Session, uids: Iterable[int]) -> set[int]:
    """Return the UIDs that exist in the selected folder."""
    found: set[int] = set()
    for batch in batches(uids):
        reply = session.run("FETCH", uid_set(batch), b"(UID FLAGS)", uid=True)
        if not reply.ok:
            raise ImapError.from_reply("refused to show messages", reply.text)
        found |= fetched(reply).keys() & set(batch)
    return found


def search(session: Session, *criteria: bytes) -> list[int]:
    """Return the UIDs that the server finds, ascending. Raise ImapError if it refuses."""
    reply = session.run("SEARCH", *criteria, uid=True)
    if not reply.ok:
        raise ImapError.from_reply("refused to search", reply.text)
    found = {word for row in reply.parsed("SEARCH") for word in row if isinstance(word, int)}
    return sorted(uid for uid in found if 0 < uid <= MAX_NUMBER)


def uids_from(session: Session, above: int) -> list[int]:
    """The UIDs of the selected folder that are not below `above`."""
    # "n:*" also finds the last message if all are below n.
    found = search(session, b"UID", b"%d:*" % max(above, 1))
    return [uid for uid in found if uid >= above]


def uids_since(session: Session, day: date) -> list[int]:
    """The UIDs of messages that came into the selected folder on this day or later, by the server's clock."""
    return search(session, b"SINCE", f"{day.day}-{MONTHS[day.month - 1]}-{day.year}".encode("ascii"))


def flagged(session: Session, flag: str) -> list[int]:
    """The UIDs in the selected folder with a flag, `\\Flagged` or a keyword, without messages marked as deleted."""
    criteria = [b"FLAGGED"] if flag == FLAGGED else [b"KEYWORD", flag.encode("ascii")]
    return search(session, b"UNDELETED", *criteria)


def fetch_original(session: Session, uid: int) -> bytes | None:
    """The message's bytes, or None when it is not there."""
    reply = session.run("FETCH", b"%d" % uid, b"(UID BODY.PEEK[])", uid=True)
    if not reply.ok:
        raise ImapError.from_reply("refused to show a message", reply.text)
    original = fetched(reply).get(uid, {}).get(b"BODY[]")
    return original if isinstance(original, bytes) else None


def change_flag(session: Session, uids: Iterable[int], flag: str, *, add: bool) -> None:
    """Sets or clears one flag."""
    for batch in batches(uids):
        item = b"+FLAGS.SILENT" if add else b"-FLAGS.SILENT"
        reply = session.run("STORE", uid_set(batch), item, f"({flag})".encode("ascii"), uid=True)
        if not reply.ok:
            raise ImapError.from_reply("refused to change a flag", reply.text)


def change_keyword(session: Session, uids: Iterable[int], keyword: str, *, add: bool) -> None:
    """Like `change_flag`; nothing changes if the server refuses."""
    try:
        change_flag(session, uids, keyword, add=add)
    except ImapError as error:
        if not session.transport.alive:
            raise
        log.info("the mail server refused a keyword: %s", error.code)


def append(
    session: Session, folder: str, original: bytes, *, flags: Collection[str], date: datetime | None
) -> int | None:
    """Add a message. Return its UID if the server reports it."""
    arguments = [quoted(folder), f"({' '.join(flags)})".encode("ascii")]
    if date is not None:
        arguments.append(_internaldate(date))
    reply = session.run("APPEND", *arguments, as_literal(original))
    if not reply.ok:
        raise ImapError.from_reply("refused to add a message", reply.text)
    codes = reply.untagged.get("APPENDUID", [])
    words = codes[-1].split() if codes else []
    uid = int(words[1]) if len(words) == 2 and words[1].isdigit() and len(words[1]) <= 10 else 0
    return uid if 0 < uid <= MAX_NUMBER else None


def batches(uids: Iterable[int]) -> Iterator[Sequence[int]]:
    """The UIDs ascending, in batches for one command each."""
    ordered = sorted(set(uids))
    for start in range(0, len(ordered), BATCH):
        yield ordered[start : start + BATCH]


def uid_set(uids: Iterable[int]) -> bytes:
    """The shortest sequence set for ascending UIDs: 1:3,7."""
    runs: list[list[int]] = []
    for uid in uids:
        if runs and uid == runs[-1][1] + 1:
            runs[-1][1] = uid
        else:
            runs.append([uid, uid])
    return b",".join(b"%d" % first if first == last else b"%d:%d" % (first, last) for first, last in runs)


def fingerprint(header: bytes, *, size: int, internaldate: datetime) -> Fingerprint:
    """Compute the fingerprint from a header's raw bytes, which may hold more fields than needed."""
    return _fingerprint(_fields(header), size=size, internaldate=internaldate)


def is_head(values: dict[bytes, Any]) -> bool:
    size = values.get(b"RFC822.SIZE")
    return isinstance(size, int) and 0 <= size <= MAX_SIZE and _header_of(values) is not None


def _header_of(values: dict[bytes, Any]) -> bytes | None:
    found = next((value or b"" for name, value in values.items() if name.startswith(b"BODY[HEADER.FIELDS")), None)
    # A server may send more than it was asked for.
    return found[:_MAX_HEADER_BYTES] if isinstance(found, bytes) else None


def head_of(uid: int, values: dict[bytes, Any]) -> Head:
    fields = _fields(_header_of(values) or b"")
    internaldate = _internaldate_of(values)
    size = values[b"RFC822.SIZE"]
    known = _fingerprint(fields, size=size, internaldate=internaldate)
    return Head(
        uid=uid,
        message_id=known.message_id,
        references=fields.get("references"),
        in_reply_to=fields.get("in-reply-to"),
        subject=fields.get("subject"),
        sender=fields.get("from"),
        size=size,
        internaldate=internaldate,
        flags=frozenset(word(flag) for flag in values.get(b"FLAGS") or ()),
        fingerprint=known,
        own_id=next(iter(every_id(fields.get("message-id"))), None),
    )


def _internaldate_of(values: dict[bytes, Any]) -> datetime:
    date = values.get(b"INTERNALDATE")
    return date.astimezone(UTC) if isinstance(date, datetime) else _EPOCH


def word(atom: object) -> str:
    """Return an atom as text: the parser turns some into numbers and None."""
    if atom is None:
        return "NIL"
    return atom.decode("utf-8", "surrogateescape") if isinstance(atom, bytes) else str(atom)


def _fields(header: bytes) -> dict[str, bytes]:
    """The first field of each name, unfolded."""
    parsed = BytesHeaderParser().parsebytes(header)
    found: dict[str, bytes] = {}
    for name, value in parsed.raw_items():
        raw = str(value).encode("ascii", "surrogateescape")
        found.setdefault(name.lower(), _FOLDS.sub(b"", raw).strip())
    return found


def _fingerprint(fields: dict[str, bytes], *, size: int, internaldate: datetime) -> Fingerprint:
    chosen = (_BLANKS.sub(b" ", fields.get(name.lower(), b"")) for name in _FINGERPRINTED)
    found = _MESSAGE_ID.search(fields.get("message-id", b""))
    return Fingerprint(
        message_id=found[0].decode("utf-8", "replace") if found else None,
        sha256=sha256(b"\n".join(chosen)).hexdigest(),
        size=size,
        internaldate=internaldate,
    )


def _internaldate(date: datetime) -> bytes:
    return f'"{date.day:2d}-{MONTHS[date.month - 1]}-{date:%Y %H:%M:%S %z}"'.encode("ascii")
