"""The kept messages as .eml files in one ZIP, which is written as it is read: one message is in memory at a time."""

import re
from collections.abc import Iterator
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sqlalchemy import Engine

from snoozer.db.models import Account
from snoozer.db.queries import personal_data as queries

_EARLIEST = (1980, 1, 1, 0, 0, 0)


class _Pieces:
    """A file that is only written to; `take` returns what was written since."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self._written.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Nothing is held back."""

    def take(self) -> bytes:
        pieces, self._written = b"".join(self._written), []
        return pieces


def as_zip(engine: Engine, *, account: Account) -> Iterator[bytes]:
    """The ZIP in pieces. A file's name begins with the id that its record has in the export."""
    pieces = _Pieces()
    with engine.connect() as connection:
        ids = queries.kept_ids(connection, user_email=account.email)
    with ZipFile(pieces, "w", ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for id in ids:
            with engine.connect() as connection:
                original = queries.original(connection, id=id, user_email=account.email)
            if original is not None:
                entry = ZipInfo(f"{id}-{_slug(original)}.eml", date_time=_EARLIEST)
                archive.writestr(entry, original, ZIP_DEFLATED)
                yield pieces.take()
    yield pieces.take()


def _slug(original: bytes) -> str:
    """A word for the name of the file, from the subject where that is plain."""
    subject = re.search(rb"^Subject:[ \t]*([^\r\n]{0,200})", original[:65_536], re.MULTILINE | re.IGNORECASE)
    words = re.sub(r"[^A-Za-z0-9]+", "-", subject[1].decode("latin-1") if subject else "").strip("-")
    return words[:40].strip("-") or "message"
