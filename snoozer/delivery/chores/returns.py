"""Returns kept messages to the inbox at their time. It needs no mail server: the reminder is sent separately."""

import logging

from sqlalchemy import Connection, Engine

from snoozer.db import day_shapes as days
from snoozer.db import mailbox_store
from snoozer.db.engine import autocommit
from snoozer.db.errors import error_text
from snoozer.delivery.chores.chore_runner import BATCH_SIZE, in_batches
from snoozer.runtime.loop import Loop
from snoozer.snoozes import day_shapes

log = logging.getLogger(__name__)

# The longest sleep: a message that was snoozed for less than this returns at most this much too late.
POLL_SECONDS = 0.5


def return_due(engine: Engine) -> list[int]:
    """Return the messages whose time has come, in batches, except messages that their owners' days defer; returns their
    snoozes. Another process may be doing it."""
    with engine.begin() as connection:
        days.defer_messages(connection, kept=True, batch_size=BATCH_SIZE)
    return in_batches(engine, "return", _return_batch)


def return_loop(engine: Engine, *, poll: float) -> Loop:
    """Returns due messages until it is stopped. Any number of processes may run one."""
    poll = min(poll, POLL_SECONDS)
    return Loop(
        lambda: min(_turn(engine, poll=poll), poll),
        name="returns",
        report=lambda error: log.warning("messages return later: %s", error_text(error)),
    )


def _turn(engine: Engine, *, poll: float) -> float:
    """Compute rests that are not known any more, and return due messages; returns the seconds until the next one is
    due."""
    with engine.begin() as connection:
        day_shapes.refresh(connection)
    left = _peek(engine)
    if left == 0:
        # Messages that are locked, or that another process is returning, are due at the next turn, too.
        left = _peek(engine) if return_due(engine) else poll
    return left


def _peek(engine: Engine) -> float:
    with autocommit(engine) as connection:
        return mailbox_store.next_return(connection)


def _return_batch(connection: Connection, id_range: range) -> list[int]:
    return mailbox_store.return_due(connection, batch_size=BATCH_SIZE, id_range=id_range)
