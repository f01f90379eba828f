"""Mails that act, and their answers: one function per statement in `sql/mailboxes/mail_acts`, of the same name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import Connection

from snoozer.db.statements import execute, row_as

# Answers to one person in an hour: to mails that were understood, and to others.
MAX_ANSWERS, MAX_SUGGESTIONS = 60, 5


@dataclass(frozen=True, kw_only=True)
class Heard:
    """The result of a mail, for its answer: the parts of the text in the person's language, and the occurrence to which
    the next answer is bound."""

    understood: bool = True
    words: Mapping[str, str] = field(default_factory=dict)
    snooze_id: int | None = None
    scheduled_for: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class DueAnswer:
    """The answer to a mail, held until `due_at`. `message_id` is that of the mail; `has_left` is True if the reminder
    of the occurrence has left."""

    id: int
    received_at: datetime
    message_id: str | None
    snooze_id: int | None
    scheduled_for: datetime | None
    words: dict[str, str]
    due_at: datetime
    email: str
    locale: str
    has_left: bool


def begin(connection: Connection, *, email: str, sha256: str) -> int | None:
    """Returns the id; None if the mail was entered before, or the account is gone."""
    return execute(connection, "mail_acts/begin", email=email, sha256=sha256).scalar_one_or_none()


def answer(connection: Connection, *, id: int, heard: Heard, message_id: str | None) -> None:
    values = {**vars(heard), "words": json.dumps(dict(heard.words))}
    most = MAX_ANSWERS if heard.understood else MAX_SUGGESTIONS
    execute(connection, "mail_acts/answer", id=id, **values, message_id=message_id, most=most)


def take(connection: Connection, *, lease: timedelta) -> DueAnswer | None:
    return row_as(execute(connection, "mail_acts/take", lease=lease).first(), DueAnswer)


def end(connection: Connection, *, due: DueAnswer) -> bool:
    return execute(connection, "mail_acts/end", id=due.id, due_at=due.due_at).first() is not None


def prune(connection: Connection, *, batch_size: int) -> int:
    return execute(connection, "mail_acts/prune", batch_size=batch_size).rowcount
