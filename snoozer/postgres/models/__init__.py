"""The ORM's picture of the tables: for the pages people read and for Alembic. Nothing is written through it."""

from snoozer.postgres.models.account import Account, ApiToken, IdempotencyKey, OwnPreset, Session, SignIn, TypedPhrase
from snoozer.postgres.models.archive import ArchivedSend, ArchivedSnooze
from snoozer.postgres.models.declared import Table
from snoozer.postgres.models.event import Event, HousekeepingRun, ServerStart
from snoozer.postgres.models.kept import KeptMessage, SinkMessage
from snoozer.postgres.models.send import Send
from snoozer.postgres.models.snooze import Snooze, promise_of
from snoozer.postgres.models.worker import CircuitBreaker, Worker

metadata = Table.metadata

__all__ = [
    "Account",
    "ApiToken",
    "ArchivedSend",
    "ArchivedSnooze",
    "CircuitBreaker",
    "Event",
    "HousekeepingRun",
    "IdempotencyKey",
    "KeptMessage",
    "OwnPreset",
    "Send",
    "ServerStart",
    "Session",
    "SignIn",
    "SinkMessage",
    "Snooze",
    "Table",
    "TypedPhrase",
    "Worker",
    "metadata",
    "promise_of",
]
