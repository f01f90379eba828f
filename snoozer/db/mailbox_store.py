"""The mailbox that Snoozer keeps: one function per file in `sql/mailbox`, of the same name."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection

from snoozer.db.statements import ALL_IDS, execute, id_bounds, rows_as

KeptFolder = Literal["inbox", "snoozed", "done"]


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """Columns of a kept message besides its bytes. `substitute_id` is its id where other bytes have `message_id`.

    `thread_ids` are the ids of the messages before it and its own as they are written, with spaces between them.
    """

    message_id: str
    substitute_id: str
    thread_ids: str | None
    sha256: str
    subject: str | None
    sender_name: str | None
    sender_email: str | None
    sent_at: datetime | None
    snippet: str
    folder: Literal["inbox", "reminders"] = "inbox"


@dataclass(frozen=True, kw_only=True)
class KeptMessage:
    """A kept message that its owner has chosen, locked. `was` is what `put_back` takes; `is_back` is True for one that
    no snooze is going to return."""

    id: int
    message_id: str
    subject: str | None
    sender_email: str | None
    is_back: bool
    was: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a message was kept, and since when: `surfaced_at` is its place in the list, `returned` is True for one that
    a snooze had brought back."""

    folder: Literal["inbox", "snoozed", "done", "reminders"]
    unread: bool
    returned: bool
    arrived_at: datetime
    surfaced_at: datetime


def lock(connection: Connection, *, user_email: str, sha256: str) -> None:
    """Serialize storing the same bytes, until the transaction ends."""
    execute(connection, "mailbox/lock", user_email=user_email, sha256=sha256)


def find(connection: Connection, *, user_email: str, sha256: str, repeatable: bool) -> int | None:
    """The id of a kept message with these bytes; with `repeatable`, only one that is unread in the inbox."""
    values = {"user_email": user_email, "sha256": sha256, "repeatable": repeatable}
    return execute(connection, "mailbox/find", **values).scalar_one_or_none()


def store(connection: Connection, *, user_email: str, envelope: Envelope, original: bytes) -> int:
    """Keep a message; returns its id."""
    values = {**asdict(envelope), "user_email": user_email, "original": original}
    while True:
        id = execute(connection, "mailbox/store", **values).scalar_one_or_none()
        if id is not None:
            return int(id)


def restore(connection: Connection, *, user_email: str, envelope: Envelope, place: Place, original: bytes) -> int:
    """Keep a message at the place that it had elsewhere; returns its id. The folder is that of the place."""
    values = {**asdict(envelope), **asdict(place), "user_email": user_email, "original": original}
    while True:
        id = execute(connection, "mailbox/restore", **values).scalar_one_or_none()
        if id is not None:
            return int(id)


def move_to_snoozed(connection: Connection, *, user_email: str, message_id: str) -> bool:
    """Take a message out of the inbox, here or in a connected mailbox. Returns False when it is not kept here, or no
    snooze would return it."""
    return _moved(connection, "mailbox/move_to_snoozed", user_email=user_email, message_id=message_id)


def return_due(
    connection: Connection, *, batch_size: int, snooze_ids: Sequence[int] | None = None, id_range: range = ALL_IDS
) -> list[int]:
    """Return up to `batch_size` kept messages whose time has come to the top of the inbox, unread, once for a promise;
    with `snooze_ids`, only those of these snoozes, also within a rest of their owners. Returns the snoozes whose
    messages returned."""
    if snooze_ids is not None:
        undefer(connection, snooze_ids=snooze_ids)
    ids = None if snooze_ids is None else list(snooze_ids)
    values = {"batch_size": batch_size, "snooze_ids": ids, **id_bounds(id_range)}
    return list(execute(connection, "mailbox/return_due", **values).scalars())


def undefer(connection: Connection, *, snooze_ids: Sequence[int]) -> None:
    """The messages of these snoozes return when that was promised, also within a rest of their owners."""
    execute(connection, "mailbox/undefer", snooze_ids=list(snooze_ids))


def next_return(connection: Connection) -> float:
    """Seconds until the next kept message returns: 0 when one is due, infinity when none waits."""
    seconds = execute(connection, "mailbox/next_return").scalar_one()
    return float("inf") if seconds is None else max(float(seconds), 0.0)


def move_to_inbox(connection: Connection, *, user_email: str, message_id: str) -> bool:
    """Return a message to its former place in the inbox. Returns False when it is there, or not kept here."""
    return _moved(connection, "mailbox/move_to_inbox", user_email=user_email, message_id=message_id)


def mark_done(connection: Connection, *, user_email: str, message_id: str) -> bool:
    """Mark a message as done. Returns False when it is not kept here."""
    return _moved(connection, "mailbox/mark_done", user_email=user_email, message_id=message_id)


def lock_message(connection: Connection, *, user_email: str, message_id: str) -> None:
    """Lock the message of a snooze, here and in connected mailboxes, before the snooze is inserted or revived."""
    execute(connection, "mailbox/lock_message", user_email=user_email, message_id=message_id)


def lock_many(connection: Connection, *, user_email: str, message_ids: Collection[str]) -> list[KeptMessage]:
    """Lock kept messages of this person, in the order of their ids."""
    values = {"message_ids": list(message_ids), "user_email": user_email}
    return rows_as(execute(connection, "mailbox/lock_many", **values), KeptMessage)


def move_many(connection: Connection, *, user_email: str, message_ids: Collection[str], folder: KeptFolder) -> set[str]:
    """Move messages to a folder; returns those that were moved. Only what a snooze returns goes to `snoozed`, here or
    in the connected mailbox that it is in."""
    values = {"user_email": user_email, "message_ids": list(message_ids), "folder": folder}
    return set(execute(connection, "mailbox/move_many", **values).scalars())


def put_back(connection: Connection, *, user_email: str, before: Sequence[dict[str, Any]]) -> set[str]:
    """Give messages back what they were, each the `was` of `lock_many` with what it `became`; returns those that are
    where the act had put them."""
    rows = execute(connection, "mailbox/put_back", user_email=user_email, before=json.dumps(before))
    return {row.message_id for row in rows}


def mark_read(connection: Connection, *, id: int, user_email: str) -> bool:
    """Mark a message as read by its owner."""
    return execute(connection, "mailbox/mark_read", id=id, user_email=user_email).first() is not None


def mark_unread(connection: Connection, *, id: int, user_email: str) -> bool:
    """Mark a message as unread by its owner."""
    return execute(connection, "mailbox/mark_unread", id=id, user_email=user_email).first() is not None


def date_arrivals(connection: Connection, *, user_email: str, message_ids: Sequence[str]) -> None:
    """Let messages that came in just now have arrived at the times that they are dated, for `snoozer up`."""
    execute(connection, "mailbox/date_arrivals", user_email=user_email, message_ids=list(message_ids))


def list_without_snippet(connection: Connection, *, batch_size: int, size: int) -> dict[int, bytes]:
    """By id, the first `size` bytes of messages whose snippet is not known yet, locked until the transaction ends."""
    rows = execute(connection, "mailbox/list_without_snippet", batch_size=batch_size, size=size)
    return {row.id: bytes(row.original) for row in rows}


def save_snippets(connection: Connection, *, snippets: Mapping[int, str]) -> None:
    """Save the snippets of messages, by id."""
    execute(connection, "mailbox/save_snippets", ids=list(snippets), snippets=list(snippets.values()))


def save_captured(connection: Connection, *, mail_from: str, rcpt_to: str, original: bytes) -> int:
    """Keep a message that the mail sink of `snoozer up` accepted; returns its id."""
    values = {"mail_from": mail_from, "rcpt_to": rcpt_to, "original": original}
    return int(execute(connection, "mailbox/save_captured", **values).scalar_one())


def _moved(connection: Connection, name: str, *, user_email: str, message_id: str) -> bool:
    return execute(connection, name, user_email=user_email, message_id=message_id).first() is not None
