"""Sends pushes from threads of its own, with connections of their own, so that no push service delays a mail or a
return. Nothing that goes wrong here ends it."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import BoundedSemaphore, Event, Thread

from sqlalchemy.exc import SQLAlchemyError

from snoozer.db import push
from snoozer.db.errors import error_text
from snoozer.db.push import ClaimedPush
from snoozer.delivery.push import PushSender
from snoozer.runtime.backoff import Backoff

log = logging.getLogger(__name__)

SENDERS = 4
# The dispatcher's connection, and one for the short transactions of all senders, who wait for each other there.
CONNECTIONS = 2
SWEEP_SECONDS = 5.0
MAX_EXPIRED = 500


class PushLoop:
    """Claims pushes that are due, one of each person at a time, and sends them, between `start` and `stop`. Any number
    of processes may run one."""

    def __init__(self, sender: PushSender, *, poll: float) -> None:
        self._sender, self._poll = sender, poll
        self._senders = ThreadPoolExecutor(SENDERS, thread_name_prefix="push")
        self._free = BoundedSemaphore(SENDERS)
        self._stop = Event()
        self._thread = Thread(target=self._run, name="pushes", daemon=True)
        self._swept_at = float("-inf")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What is on its way comes to its end, within the seconds of a request."""
        self._stop.set()
        self._thread.join()
        self._senders.shutdown()

    def _run(self) -> None:
        backoff = Backoff(first=0.1, cap=5.0)
        while not self._stop.is_set():
            try:
                self._turn()
                backoff.reset()
            except Exception as error:
                # Also what is a defect of ours: a thread that ends would end all pushes of this process unseen.
                text = error_text(error) if isinstance(error, SQLAlchemyError) else type(error).__name__
                log.warning("pushes are sent later: %s", text)
                self._stop.wait(backoff.next_wait())

    def _turn(self) -> None:
        """Hand one push to a sender; wait where there is none, or no sender is free."""
        if time.monotonic() - self._swept_at > SWEEP_SECONDS:
            sweep(self._sender)
            self._swept_at = time.monotonic()
        if not self._free.acquire(timeout=self._poll):
            return
        claimed = None
        try:
            claimed = self._sender.claim()
            if claimed is not None:
                self._senders.submit(self._send, claimed)
        finally:
            if claimed is None:
                self._free.release()
        if claimed is None:
            self._stop.wait(self._poll)

    def _send(self, claimed: ClaimedPush) -> None:
        try:
            send(self._sender, claimed)
        finally:
            self._free.release()


def drain(sender: PushSender) -> None:
    """Send what is due, one after the other. A device whose push service is away is left alone after one try."""
    sweep(sender)
    while not sender.stopping.is_set() and (claimed := sender.claim()) is not None:
        send(sender, claimed)


def sweep(sender: PushSender) -> None:
    """End what no sender will: what comes too late, and what a lost worker had marked."""
    with sender.engine.begin() as connection:
        push.expire(connection, batch_size=MAX_EXPIRED)


def send(sender: PushSender, claimed: ClaimedPush) -> None:
    """Send one push; an error of ours is logged, without anything of the push, and keeps no other waiting."""
    try:
        sender.send(claimed)
    except SQLAlchemyError as error:
        log.warning("push %d: %s", claimed.id, error_text(error))
    except Exception as error:
        log.error("push %d failed here: %s", claimed.id, type(error).__name__)
        # Where that cannot be written, its claim ends by its lease.
        with suppress(SQLAlchemyError):
            sender.release_failed(claimed)
