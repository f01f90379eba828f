"""The ORM's picture of the tables: for the pages people read and for Alembic. Nothing is written through it."""

from snoozer.db.models.account import Account, ApiToken, IdempotencyKey, Session, SignIn, TypedPhrase, UserPreset
from snoozer.db.models.archive import ArchivedSend, ArchivedSnooze
from snoozer.db.models.base import Base
from snoozer.db.models.event import Event, HousekeepingRun, ServerStart
from snoozer.db.models.mailbox import CapturedMail, MailboxMessage
from snoozer.db.models.send import Send
from snoozer.db.models.snooze import Snooze, promised_time
from snoozer.db.models.worker import CircuitBreaker, Worker

metadata = Base.metadata

__all__ = [
    "Account",
    "ApiToken",
    "ArchivedSend",
    "ArchivedSnooze",
    "Base",
    "CapturedMail",
    "CircuitBreaker",
    "Event",
    "HousekeepingRun",
    "IdempotencyKey",
    "MailboxMessage",
    "Send",
    "ServerStart",
    "Session",
    "SignIn",
    "Snooze",
    "TypedPhrase",
    "UserPreset",
    "Worker",
    "metadata",
    "promised_time",
]
