"""Importing the ZIP of an export: each of its messages is kept once, byte for byte, with its previous id and place. No
other data of the file is trusted, and any file is read within limits."""

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from typing import IO, Any, get_args
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from sqlalchemy import Connection

from snoozer.db.mailbox_store import Place
from snoozer.db.models import Account
from snoozer.db.statements import database_time
from snoozer.mail import headers
from snoozer.mailboxes import inbox
from snoozer.people import quotas
from snoozer.people.limits import Limits
from snoozer.people.personal_data.import_file import NotAnExport
from snoozer.people.personal_data.originals import PLACES
from snoozer.people.personal_data.rows import RowRefused, read_message_id
from snoozer.translations import gettext as _

SIGNATURE = b"PK\x03\x04"
# A limit, because each message holds a lock of the database until all are saved.
MAX_MESSAGES = 1_000
MAX_BYTES = 100 * 1024 * 1024
MAX_PLACES_BYTES = 4 * 1024 * 1024
_MAX_DIRECTORY_BYTES = 1024 * 1024
_END, _END_SIZE, _MAX_COMMENT = b"PK\x05\x06", 22, 65_536
# It precedes the end record, and leads to a directory whose size is not in the end record.
_ZIP64_LOCATOR, _LOCATOR_SIZE = b"PK\x06\x07", 20
_MEMBER_HEAD_SIZE = 30
# `read(most)` of zipfile limits decompression only for these: bz2 and LZMA unpack a whole block into memory.
_BOUNDED_METHODS = frozenset({ZIP_STORED, ZIP_DEFLATED})
_ENCRYPTED = 0x1
_EARLIEST = datetime(1970, 1, 2, tzinfo=UTC)
_BROKEN = (
    *(BadZipFile, EOFError, NotImplementedError, OSError, OverflowError, RuntimeError, struct.error, ValueError),
    zlib.error,
)


@dataclass(frozen=True, kw_only=True)
class Restored:
    """How many messages are kept now, how many were here already, and how many files are not messages."""

    new: int
    known: int
    refused: int


def restore(
    connection: Connection, file: IO[bytes], *, account: Account, limits: Limits, largest_message: int
) -> Restored:
    """Keep the messages of a ZIP. Raises NotAnExport if it cannot be read or is too large, and QuotaReached."""
    now = database_time(connection)
    with _open(file) as archive:
        entries = [entry for entry in archive.infolist() if entry.filename.lower().endswith(".eml")]
        if not entries:
            raise NotAnExport(_("The ZIP has no message file (.eml)."))
        messages = _messages(archive, entries, largest_message)
        places = _read_places(archive)
        quotas.spend_upload(connection, limits, user_email=account.email, size=sum(one.size for one in messages))
        new = 0
        # Sorted, so that two imports of the same messages take their locks in one order.
        for one in sorted(messages, key=lambda one: one.digest):
            record = places.get(one.entry.filename, {})
            new += inbox.restore(
                connection,
                user_email=account.email,
                original=_read(archive, one.entry, most=largest_message),
                message_id=_message_id(record),
                place=_place(record, now=now),
                return_path=_return_path(record),
            )
    return Restored(new=new, known=len(messages) - new, refused=len(entries) - len(messages))


@dataclass(frozen=True, kw_only=True)
class _Message:
    entry: ZipInfo
    digest: bytes
    size: int


def _open(file: IO[bytes]) -> ZipFile:
    """Raises NotAnExport, also for a directory that would take much memory: `ZipFile` reads it whole."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_SIZE - _MAX_COMMENT - _LOCATOR_SIZE))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise NotAnExport(_damaged())
    (directory,) = struct.unpack("<L", tail[at + 12 : at + 16])
    if directory > _MAX_DIRECTORY_BYTES:
        raise NotAnExport(_too_many())
    if tail[max(0, at - _LOCATOR_SIZE) : at].startswith(_ZIP64_LOCATOR):
        raise NotAnExport(_damaged())
    file.seek(0)
    try:
        archive = ZipFile(file)
    except _BROKEN:
        raise NotAnExport(_damaged()) from None
    if _overlap(archive.infolist(), end=size):
        raise NotAnExport(_damaged())
    return archive


def _overlap(entries: list[ZipInfo], *, end: int) -> bool:
    """Whether two members share bytes, or a member reaches beyond the file: then a small file could
    take hours to read."""
    spans = sorted(
        (each.header_offset, each.header_offset + _MEMBER_HEAD_SIZE + each.compress_size) for each in entries
    )
    spans.append((end, end))
    return spans[0][0] < 0 or any(stop > start for (_, stop), (start, _) in pairwise(spans))


def _read(archive: ZipFile, entry: ZipInfo, *, most: int) -> bytes:
    """Read a limited number of bytes of a member. Only this function opens members."""
    if entry.compress_type not in _BOUNDED_METHODS or entry.flag_bits & _ENCRYPTED:
        raise NotAnExport(_packed_otherwise())
    try:
        with archive.open(entry) as opened:
            return opened.read(most)
    except _BROKEN:
        raise NotAnExport(_damaged()) from None


def _messages(archive: ZipFile, entries: list[ZipInfo], largest_message: int) -> list[_Message]:
    """The files that are messages, read once to compute their digests; the sizes in the ZIP are not trusted."""
    if len(entries) > MAX_MESSAGES:
        raise NotAnExport(_too_many())
    found, total = [], 0
    for entry in entries:
        content = _read(archive, entry, most=largest_message + 1)
        total += len(content)
        if total > MAX_BYTES:
            raise NotAnExport(_too_many())
        if len(content) <= largest_message and headers.is_at_start(content):
            found.append(_Message(entry=entry, digest=sha256(content).digest(), size=len(content)))
    return found


def _damaged() -> str:
    return _("The ZIP is damaged or of a kind that cannot be read.")


def _packed_otherwise() -> str:
    return _(
        "The ZIP has a file that is encrypted or compressed by another method than Deflate."
        " Unpack it, and make an ordinary ZIP of its files."
    )


def _too_many() -> str:
    return _(
        "The ZIP has more than %(most)s messages or more than %(size)s MB. Unpack it, and import a part at a time.",
        most=MAX_MESSAGES,
        size=MAX_BYTES // 1024 // 1024,
    )


def _read_places(archive: ZipFile) -> dict[str, dict[str, Any]]:
    """The record of each message by its file name; empty for a ZIP without such records."""
    if PLACES not in archive.namelist():
        return {}
    content = _read(archive, archive.getinfo(PLACES), most=MAX_PLACES_BYTES + 1)
    try:
        places = json.loads(content) if len(content) <= MAX_PLACES_BYTES else []
    except (ValueError, RecursionError):
        return {}
    records: Iterator[Any] = iter(places if isinstance(places, list) else [])
    return {
        record["file"]: record for record in records if isinstance(record, dict) and isinstance(record.get("file"), str)
    }


def _message_id(record: dict[str, Any]) -> str | None:
    try:
        return read_message_id(record.get("message_id"))
    except RowRefused:
        return None


def _return_path(record: dict[str, Any]) -> str | None:
    path = record.get("return_path")
    return path if isinstance(path, str) and len(path) <= inbox.MAX_PATH_LENGTH else None


def _place(record: dict[str, Any], *, now: datetime) -> Place:
    folder: Any = record.get("folder")
    arrived_at = _time(record.get("arrived_at")) or now
    return Place(
        folder=folder if folder in get_args(Place.__annotations__["folder"]) else "inbox",
        unread=record.get("unread") is not False,
        returned=record.get("returned") is True,
        arrived_at=arrived_at,
        surfaced_at=_time(record.get("surfaced_at")) or arrived_at,
    )


def _time(value: Any) -> datetime | None:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) and len(value) < 50 else None
        return at if at is not None and at.tzinfo is not None and at >= _EARLIEST else None
    except (ValueError, OverflowError):
        return None
