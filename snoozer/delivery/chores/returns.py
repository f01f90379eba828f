"""Returns kept messages to the inbox at their time. It needs no mail server: the reminder is sent separately."""

import logging
import time
from threading import Event, Thread

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db import day_shapes as days
from snoozer.db import mailbox_store
from snoozer.db.engine import autocommit
from snoozer.db.errors import error_text
from snoozer.delivery.chores.chore_runner import BATCH_SIZE, in_batches
from snoozer.runtime.backoff import Backoff
from snoozer.snoozes import day_shapes

log = logging.getLogger(__name__)

# The longest sleep: a message that was snoozed for less than this returns at most this much too late.
POLL_SECONDS = 0.5
INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 5.0


def return_due(engine: Engine) -> list[int]:
    """Return the messages whose time has come, in batches, except messages that their owners' days defer; returns their
    snoozes. Another process may be doing it."""
    with engine.begin() as connection:
        days.defer_messages(connection, kept=True, batch_size=BATCH_SIZE)
    return in_batches(engine, "return", _return_batch)


class ReturnLoop:
    """Returns messages from its own thread, between `start` and `stop`. Any number of processes may run one."""

    def __init__(self, engine: Engine, *, poll: float) -> None:
        self._engine = engine
        self._poll = min(poll, POLL_SECONDS)
        self._backoff = Backoff(first=INITIAL_BACKOFF, cap=MAX_BACKOFF, healthy_after=MAX_BACKOFF)
        self._stop = Event()
        self._thread = Thread(target=self._run, name="returns", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._stop.is_set():
            try:
                self._stop.wait(min(self._turn(), self._poll))
            except Exception as error:
                # Catch bugs, too: if the thread ended, all returns of this process would stop unnoticed.
                text = error_text(error) if isinstance(error, SQLAlchemyError) else type(error).__name__
                log.warning("messages return later: %s", text)
                self._stop.wait(self._backoff.next_wait(worked_for=time.monotonic() - began))
                began = time.monotonic()

    def _turn(self) -> float:
        """Compute rests that are not known any more, and return due messages; returns the seconds until the next one is
        due."""
        with self._engine.begin() as connection:
            day_shapes.refresh(connection)
        left = self._peek()
        if left == 0:
            # Messages that are locked, or that another process is returning, are due at the next turn, too.
            left = self._peek() if return_due(self._engine) else self._poll
        return left

    def _peek(self) -> float:
        with autocommit(self._engine) as connection:
            return mailbox_store.next_return(connection)


def _return_batch(connection: Connection, id_range: range) -> list[int]:
    return mailbox_store.return_due(connection, batch_size=BATCH_SIZE, id_range=id_range)
