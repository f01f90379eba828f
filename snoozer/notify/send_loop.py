"""Sends what other people's servers take, pushes and webhooks, from threads and with connections of its own, so that
none of those servers delays a mail or a return. Nothing that goes wrong here ends it."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import BoundedSemaphore, Event, Thread
from typing import Generic, Protocol, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.errors import error_text
from snoozer.runtime.backoff import Backoff

log = logging.getLogger(__name__)

# The dispatcher's connection, and one for the short transactions of all senders, who wait for each other there.
CONNECTIONS = 2
SWEEP_SECONDS = 5.0
# How long a fact is kept in memory while the database is away.
RECORD_SECONDS = 50.0


class Claimed(Protocol):
    """Something that one sender holds."""

    @property
    def id(self) -> int: ...


C = TypeVar("C", bound=Claimed)


class Sender(Protocol[C]):
    """Claims what is due, and sends it. `word` is what it sends; `stopping` is set when the process is to end."""

    @property
    def word(self) -> str: ...
    @property
    def stopping(self) -> Event: ...

    def claim(self) -> C | None:
        """The next one that is due; None where none is."""

    def send(self, claimed: C) -> None:
        """Send one, and record what became of it."""

    def release_failed(self, claimed: C) -> None:
        """One failed here, by a defect of ours."""

    def sweep(self) -> None:
        """End what no sender will."""


class SendLoop(Generic[C]):
    """Claims what is due and sends it, up to `senders` at once, between `start` and `stop`. Any number of processes may
    run one."""

    def __init__(self, sender: Sender[C], *, senders: int, poll: float) -> None:
        self._sender, self._poll = sender, poll
        self._senders = ThreadPoolExecutor(senders, thread_name_prefix=sender.word)
        self._free = BoundedSemaphore(senders)
        self._stop, self._sent = Event(), Event()
        self._thread = Thread(target=self._run, name=f"{sender.word} loop", daemon=True)
        self._swept_at = float("-inf")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What is on its way comes to its end, within the seconds of a request."""
        self._stop.set()
        self._sent.set()
        self._thread.join()
        self._senders.shutdown()

    def _run(self) -> None:
        backoff = Backoff(first=0.1, cap=5.0)
        while not self._stop.is_set():
            try:
                self._turn()
                backoff.reset()
            except Exception as error:
                # Also what is a defect of ours: a thread that ends would end all sending of this process unseen.
                text = error_text(error) if isinstance(error, SQLAlchemyError) else type(error).__name__
                log.warning("what %ss are due is sent later: %s", self._sender.word, text)
                self._stop.wait(backoff.next_wait())

    def _turn(self) -> None:
        """Hand one to a sender; wait where there is none, or no sender is free. What was sent may let another go."""
        if time.monotonic() - self._swept_at > SWEEP_SECONDS:
            self._sender.sweep()
            self._swept_at = time.monotonic()
        if not self._free.acquire(timeout=self._poll):
            return
        claimed = None
        self._sent.clear()
        try:
            claimed = self._sender.claim()
            if claimed is not None:
                self._senders.submit(self._send, claimed)
        finally:
            if claimed is None:
                self._free.release()
        if claimed is None and not self._stop.is_set():
            self._sent.wait(self._poll)

    def _send(self, claimed: C) -> None:
        try:
            send(self._sender, claimed)
        finally:
            self._free.release()
            self._sent.set()


def drain(sender: Sender[C]) -> None:
    """Send what is due, one after the other. Where a server is away, the rest for it is left alone after one try."""
    sender.sweep()
    while not sender.stopping.is_set() and (claimed := sender.claim()) is not None:
        send(sender, claimed)


def send(sender: Sender[C], claimed: C) -> None:
    """Send one; an error of ours is logged, without anything of its content, and keeps no other waiting."""
    try:
        sender.send(claimed)
    except SQLAlchemyError as error:
        log.warning("%s %d: %s", sender.word, claimed.id, error_text(error))
    except Exception as error:
        log.error("%s %d failed here: %s", sender.word, claimed.id, type(error).__name__)
        # Where that cannot be written, its claim ends by its lease.
        with suppress(SQLAlchemyError):
            sender.release_failed(claimed)


def write_fact(engine: Engine, statement: Callable[[Connection], object], *, word: str, stopping: Event) -> None:
    """Write what became of something, again and again while the database is away. Raises SQLAlchemyError when that
    lasts."""
    until, backoff = time.monotonic() + RECORD_SECONDS, Backoff(first=0.1, cap=5.0)
    while True:
        try:
            with engine.begin() as connection:
                statement(connection)
                return
        except SQLAlchemyError as error:
            if time.monotonic() >= until or stopping.is_set():
                raise
            log.warning("what became of a %s is written later: %s", word, error_text(error))
            stopping.wait(backoff.next_wait())
