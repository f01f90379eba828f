"""The mailbox that Snoozer keeps: one function per file in `sql/kept`, of the same name."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection

from snoozer.postgres.statements import run


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """What the mailbox knows of a message besides its bytes. `stand_in` is its id where `message_id` is taken."""

    message_id: str
    stand_in: str
    sha256: str
    subject: str | None
    sender_name: str | None
    sender_email: str | None
    sent_at: datetime | None


def lock(connection: Connection, *, user_email: str, sha256: str) -> None:
    """Wait for whoever keeps these very bytes at this moment."""
    run(connection, "kept/lock", user_email=user_email, sha256=sha256)


def find(connection: Connection, *, user_email: str, sha256: str, repeatable: bool) -> int | None:
    """The first kept message with these bytes; of `repeatable` ones, one that lies unread in the inbox."""
    values = {"user_email": user_email, "sha256": sha256, "repeatable": repeatable}
    return run(connection, "kept/find", **values).scalar_one_or_none()


def keep(connection: Connection, *, user_email: str, envelope: Envelope, original: bytes) -> int:
    """Keep a message; answers its id."""
    values = {**asdict(envelope), "user_email": user_email, "original": original}
    while True:
        id = run(connection, "kept/keep", **values).scalar_one_or_none()
        if id is not None:
            return int(id)


def put_away(connection: Connection, *, user_email: str, message_id: str) -> bool:
    """Out of the inbox; False when the message is not kept here."""
    return _moved(connection, "kept/put_away", user_email=user_email, message_id=message_id)


def surface(connection: Connection, *, snooze_ids: Sequence[int]) -> None:
    """The messages of these snoozes: back to the top of the inbox, unread, where they are kept."""
    run(connection, "kept/surface", snooze_ids=list(snooze_ids))


def take_back(connection: Connection, *, user_email: str, message_id: str) -> bool:
    """Back to where it was in the inbox."""
    return _moved(connection, "kept/take_back", user_email=user_email, message_id=message_id)


def settle(connection: Connection, *, user_email: str, message_id: str) -> bool:
    """Done with it; False when the message is not kept here."""
    return _moved(connection, "kept/settle", user_email=user_email, message_id=message_id)


def read(connection: Connection, *, id: int, user_email: str) -> bool:
    """Opened by its owner."""
    return run(connection, "kept/read", id=id, user_email=user_email).first() is not None


def _moved(connection: Connection, name: str, *, user_email: str, message_id: str) -> bool:
    return run(connection, name, user_email=user_email, message_id=message_id).first() is not None
