"""A client of the API for Python programs: `Client(url, token).snooze(subject="Lease", when="friday 9am")`.

It imports nothing of Snoozer but its arithmetic of waits, and needs no database and no settings.
"""

from snoozer.client.client import Client
from snoozer.client.errors import (
    ApiError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    NotFound,
    PreconditionFailed,
    Refused,
    Unauthorized,
    Unreachable,
    WaitTooLong,
)
from snoozer.client.models import BulkReply, BulkResult, Reading, Send, Snooze, SnoozeHistory, Undone

__all__ = [
    "ApiError",
    "BulkReply",
    "BulkResult",
    "Client",
    "Conflict",
    "Failed",
    "Forbidden",
    "Invalid",
    "NotFound",
    "PreconditionFailed",
    "Reading",
    "Refused",
    "Send",
    "Snooze",
    "SnoozeHistory",
    "Unauthorized",
    "Undone",
    "Unreachable",
    "WaitTooLong",
]
