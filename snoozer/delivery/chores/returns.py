"""Returns kept messages to the inbox at their time. It needs no mail server: the reminder is sent separately.

The loop is also a worker's look at everything that may be due besides mails: one query a poll wakes the loops that send
notifications, so that idle workers cost the database little.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from snoozer.db import day_shapes as days
from snoozer.db import mailbox_store
from snoozer.db.engine import autocommit
from snoozer.db.errors import error_text
from snoozer.db.statements import execute
from snoozer.delivery.chores.chore_runner import BATCH_SIZE, in_batches
from snoozer.runtime.loop import Loop
from snoozer.snoozes import day_shapes

log = logging.getLogger(__name__)

# The longest sleep, unless the poll is shorter. A message that was snoozed for less than this returns at most this much
# too late; so does a notification that another process entered.
POLL_SECONDS = 2.5
# How long to wait for messages that are locked, or that another process is returning.
LOCKED_SECONDS = 0.5
NO_WAKES: Mapping[str, Callable[[], None]] = {}


@dataclass(frozen=True, kw_only=True)
class SideWork:
    """The work besides reminders: the seconds until the next kept message returns (0 if one is due, infinity if none
    waits), and what is `due`: "rest" for rests to be computed, and the words of senders."""

    returns_in: float
    due: frozenset[str]


def side_work(connection: Connection) -> SideWork:
    row = execute(connection, "housekeeping/side_work").one()
    returns_in = float("inf") if row.returns_in is None else max(float(row.returns_in), 0.0)
    return SideWork(returns_in=returns_in, due=frozenset(row.due))


def return_due(engine: Engine) -> list[int]:
    """Return the messages whose time has come, in batches, except messages that their owners' days defer; returns their
    snoozes. Another process may be doing it."""
    with engine.begin() as connection:
        days.defer_messages(connection, kept=True, batch_size=BATCH_SIZE)
    return in_batches(engine, "return", _return_batch)


def return_loop(engine: Engine, *, poll: float, wakes: Mapping[str, Callable[[], None]] = NO_WAKES) -> Loop:
    """Returns due messages until it is stopped, and wakes the loops that have something to send, by the word of their
    sender. Any number of processes may run one."""
    poll = min(2.5 * poll, POLL_SECONDS)
    return Loop(
        lambda: min(_turn(engine, wakes), poll),
        name="returns",
        report=lambda error: log.warning("messages return later: %s", error_text(error)),
    )


def _turn(engine: Engine, wakes: Mapping[str, Callable[[], None]]) -> float:
    """Compute rests that are not known any more, return due messages, and wake senders; returns the seconds until the
    next message is due."""
    work = _look(engine)
    if "rest" in work.due:
        with engine.begin() as connection:
            day_shapes.refresh(connection)
        work = _look(engine)
    returns_in = work.returns_in
    if returns_in == 0 and return_due(engine):
        work = _look(engine)
        returns_in = work.returns_in
    elif returns_in == 0:
        returns_in = LOCKED_SECONDS
    for word in work.due & wakes.keys():
        wakes[word]()
    return returns_in


def _look(engine: Engine) -> SideWork:
    with autocommit(engine) as connection:
        return side_work(connection)


def _return_batch(connection: Connection, id_range: range) -> list[int]:
    return mailbox_store.return_due(connection, batch_size=BATCH_SIZE, id_range=id_range)
