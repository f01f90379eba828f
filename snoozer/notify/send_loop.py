"""Sends pushes and webhooks to other people's servers, in separate threads and with separate connections, so that none
of those servers delays a mail or a return. No exception stops the loop."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import BoundedSemaphore, Event, Thread
from typing import Generic, Protocol, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.errors import error_text
from snoozer.runtime.backoff import Backoff

log = logging.getLogger(__name__)

# A connection for the dispatcher, and another for the short transactions of all senders, who take turns.
CONNECTIONS = 2
SWEEP_SECONDS = 5.0
# How often a loop looks if nothing wakes it.
RARELY_SECONDS = 60.0


class Claimed(Protocol):
    """An item that one sender holds."""

    @property
    def id(self) -> int: ...


C = TypeVar("C", bound=Claimed)


class Sender(Protocol[C]):
    """Claims due items, and sends them, up to `senders` at once. `word` is their name in logs; `stopping` is set when
    the process is to end."""

    @property
    def word(self) -> str: ...
    @property
    def senders(self) -> int: ...
    @property
    def stopping(self) -> Event: ...

    def claim(self) -> C | None:
        """The next due item; None if there is none."""

    def send(self, claimed: C) -> None:
        """Send an item, and record the result."""

    def release_failed(self, claimed: C) -> None:
        """Handle an item that failed on our side, by a defect."""

    def sweep(self) -> None:
        """End items that no sender will."""


class SendLoop(Generic[C]):
    """Claims and sends due items between `start` and `stop`: when it is woken, and each `poll` seconds. Any number of
    processes may run one."""

    def __init__(self, sender: Sender[C], *, poll: float = RARELY_SECONDS) -> None:
        self._sender, self._poll = sender, poll
        self._senders = ThreadPoolExecutor(sender.senders, thread_name_prefix=sender.word)
        self._free = BoundedSemaphore(sender.senders)
        self._stop, self._woken = Event(), Event()
        self._thread = Thread(target=self._run, name=f"{sender.word} loop", daemon=True)
        self._swept_at = float("-inf")

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Look now whether an item is due. From any thread."""
        self._woken.set()

    def stop(self) -> None:
        """Wait for requests in flight, at most one request timeout."""
        self._stop.set()
        self._woken.set()
        self._thread.join()
        self._senders.shutdown()

    def _run(self) -> None:
        backoff = Backoff(first=0.1, cap=5.0)
        while not self._stop.is_set():
            try:
                self._turn()
                backoff.reset()
            except Exception as error:
                # Catches defects, too: if this thread ended, the process would silently stop all sending.
                text = error_text(error) if isinstance(error, SQLAlchemyError) else type(error).__name__
                log.warning("what %ss are due is sent later: %s", self._sender.word, text)
                self._stop.wait(backoff.next_wait())

    def _turn(self) -> None:
        """Hand an item to a sender; wait if there is none, or no sender is free. A finished send may free the next
        item."""
        if time.monotonic() - self._swept_at > SWEEP_SECONDS:
            self._sender.sweep()
            self._swept_at = time.monotonic()
        if not self._free.acquire(timeout=self._poll):
            return
        claimed = None
        self._woken.clear()
        try:
            claimed = self._sender.claim()
            if claimed is not None:
                self._senders.submit(self._send, claimed)
        finally:
            if claimed is None:
                self._free.release()
        if claimed is None and not self._stop.is_set():
            self._woken.wait(self._poll)

    def _send(self, claimed: C) -> None:
        try:
            send(self._sender, claimed)
        finally:
            self._free.release()
            self._woken.set()


def drain(sender: Sender[C]) -> None:
    """Send due items one after the other. If a server is away, its other items are skipped after one try."""
    sender.sweep()
    while not sender.stopping.is_set() and (claimed := sender.claim()) is not None:
        send(sender, claimed)


def send(sender: Sender[C], claimed: C) -> None:
    """Send one item; an error on our side is logged, without its content, and does not delay other items."""
    try:
        sender.send(claimed)
    except SQLAlchemyError as error:
        log.warning("%s %d: %s", sender.word, claimed.id, error_text(error))
    except Exception as error:
        log.error("%s %d failed here: %s", sender.word, claimed.id, type(error).__name__)
        # If that cannot be written, the claim ends with its lease.
        with suppress(SQLAlchemyError):
            sender.release_failed(claimed)
