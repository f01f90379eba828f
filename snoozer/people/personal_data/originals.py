"""The kept messages as .eml files in one ZIP, which is streamed: one message is in memory at a time. Its last file,
PLACES, records the place of each, for `restoring`."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sqlalchemy import Engine

from snoozer.db.models import Account
from snoozer.db.queries import personal_data as queries

PLACES = "places.json"
PLACE_COLUMNS = ("message_id", "folder", "unread", "returned", "arrived_at", "surfaced_at", "return_path")
_EARLIEST = (1980, 1, 1, 0, 0, 0)


class _Pieces:
    """A write-only file; `take` returns the bytes written since the last call."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self._written.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Do nothing: the file has no buffer."""

    def take(self) -> bytes:
        pieces, self._written = b"".join(self._written), []
        return pieces


def as_zip(engine: Engine, *, account: Account) -> Iterator[bytes]:
    """The ZIP in pieces. A file's name begins with the id that its record has in the export."""
    pieces, places = _Pieces(), []
    with engine.connect() as connection:
        ids = queries.kept_ids(connection, user_email=account.email)
    with ZipFile(pieces, "w", ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for id in ids:
            with engine.connect() as connection:
                kept = queries.original(connection, id=id, user_email=account.email)
            if kept is not None:
                entry = ZipInfo(f"{id}-{_slug(kept.original)}.eml", date_time=_EARLIEST)
                archive.writestr(entry, kept.original, ZIP_DEFLATED)
                places.append({"file": entry.filename, **{name: getattr(kept, name) for name in PLACE_COLUMNS}})
                yield pieces.take()
        text = json.dumps(places, ensure_ascii=False, indent=0, default=datetime.isoformat)
        archive.writestr(ZipInfo(PLACES, date_time=_EARLIEST), text, ZIP_DEFLATED)
    yield pieces.take()


def _slug(original: bytes) -> str:
    """A word for the name of the file, from the subject if that is plain."""
    subject = re.search(rb"^Subject:[ \t]*([^\r\n]{0,200})", original[:65_536], re.MULTILINE | re.IGNORECASE)
    words = re.sub(r"[^A-Za-z0-9]+", "-", subject[1].decode("latin-1") if subject else "").strip("-")
    return words[:40].strip("-") or "message"
