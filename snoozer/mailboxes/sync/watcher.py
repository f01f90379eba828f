"""Watches the mailboxes that this process owns: one connection each, all in one selector; a small pool of threads works
on the mailboxes that need work. IDLE events only trigger a full sync; state is never taken from them."""

import logging
import selectors
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from queue import Empty, SimpleQueue

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db import day_shapes as days
from snoozer.db import mailbox_leases, mailbox_store, replies
from snoozer.db.engine import autocommit
from snoozer.db.errors import error_text, is_lasting, is_transient
from snoozer.db.mailbox_leases import OwnedMailbox
from snoozer.mailboxes.sync import silence
from snoozer.mailboxes.sync.mailbox_watch import MailboxWatch, Wait
from snoozer.mailboxes.sync.ownership import Ownership
from snoozer.mailboxes.sync.turn_queue import NEVER, TurnQueue, Watched
from snoozer.runtime.backoff import Backoff
from snoozer.snoozes import day_shapes

log = logging.getLogger(__name__)

THREADS = 24
# How often to ask the database for messages that are due within two seconds, at first and while there are any.
ASK_SECONDS, ASK_DUE_SECONDS = 1.0, 0.4
# How often to ask the database for mailboxes in which a snooze waits for a reply.
READING_SECONDS = 5.0
# When to repeat a turn after the database was away.
DATABASE_AWAY_SECONDS = 2.0
# When to ask again after the database refused that, at first and at most.
FIRST_REFUSED_SECONDS, LONGEST_REFUSED_SECONDS = 2.0, 60.0
# When to repeat a turn that failed unexpectedly.
BROKEN_SECONDS = 60.0


class Watcher:
    """Any number of processes may run one: each owns its share of the mailboxes. `run` and `stop` are called once.

    Mailboxes that were read without news are recorded every `record_every` seconds.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        owner: str,
        retry: timedelta,
        record_every: float,
        attend: Callable[[OwnedMailbox], MailboxWatch],
    ) -> None:
        self._engine, self._attend, self._record_every = engine, attend, record_every
        self._ownership = Ownership(engine, owner=owner, retry=retry)
        self._watched: dict[int, Watched] = {}
        self._running: dict[int, Watched] = {}
        self._due: set[int] = set()
        self._synced: dict[int, int] = {}
        self._queue = TurnQueue(threads=THREADS)
        self._finished: SimpleQueue[tuple[Watched, Wait]] = SimpleQueue()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="mailbox")
        self._selector = selectors.DefaultSelector()
        self._wakened, self._waker = socket.socketpair()
        self._wakened.setblocking(False)
        self._waker.setblocking(False)
        self._selector.register(self._wakened, selectors.EVENT_READ)
        self._stopping = False
        self._ask_at = self._record_at = self._reading_at = 0.0
        self._refused = Backoff(first=FIRST_REFUSED_SECONDS, cap=LONGEST_REFUSED_SECONDS)

    def run(self) -> None:
        """Watch until `stop`. Running turns are finished, then the mailboxes are given back."""
        try:
            while not self._stopping:
                self._ask_database()
                self._start_turns()
                self._wait()
                self._finish_turns()
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)
            for watched in self._watched.values():
                watched.watch.close()
            self._selector.close()
            self._waker.close()
            self._wakened.close()
            with suppress(SQLAlchemyError):
                self._record_synced()
                self._ownership.end()

    def stop(self) -> None:
        """Called from any thread."""
        self._stopping = True
        self._wake()

    def _wake(self) -> None:
        with suppress(OSError):
            self._waker.send(b"x")

    def _ask_database(self) -> None:
        """Keep and take mailboxes, and ask for due messages, periodically. While the database is away, no message is
        moved.
        """
        now = time.monotonic()
        if now < self._ask_at:
            return
        self._ask_at = now + ASK_SECONDS
        try:
            self._keep()
            self._listen_for_silence(now)
            if now >= self._record_at:
                self._record_synced()
                self._record_at = now + self._record_every
            self._defer()
            with autocommit(self._engine) as connection:
                due = mailbox_store.next_returns(connection, owner=self._ownership.owner)
                if now >= self._reading_at:
                    self._note_reading(replies.list_waiting(connection, owner=self._ownership.owner), now=now)
                    self._reading_at = now + READING_SECONDS
        except SQLAlchemyError as error:
            log.warning("mailboxes are looked at later: %s", error_text(error))
            wait = self._refused.next_wait() if is_lasting(error) else ASK_SECONDS
            self._ask_at = time.monotonic() + wait
            return
        self._refused.reset()
        self._note_due(due)

    def _listen_for_silence(self, now: float) -> None:
        """Ask servers that were not heard. A silent server is a problem of its mailbox until a turn succeeds."""
        for watched in silence.to_ask(self._watched.values(), now=now):
            watched.due_at = now
            self._queue.plan(watched, now=now)
        for watched in silence.silent(self._running.values(), now=now):
            mailbox, watched.is_silent, watched.is_recorded = watched.watch.mailbox, True, False
            with self._engine.begin() as connection:
                mailbox_leases.record_problem(
                    connection, id=mailbox.id, fence=mailbox.fence, problem="gone", pause=False
                )
            log.warning("mailbox %d: its mail server does not answer", mailbox.id)

    def _defer(self) -> None:
        """Postpone messages that are due within their owner's quiet hours to the end of these."""
        with self._engine.begin() as connection:
            day_shapes.refresh(connection)
            days.defer_messages(connection, kept=False, batch_size=day_shapes.BATCH_SIZE)

    def _keep(self) -> None:
        news = self._ownership.keep({id: watched.watch.mailbox for id, watched in self._watched.items()})
        for id in news.lost:
            self._drop(id)
        for mailbox in news.taken:
            self._add(mailbox)

    def _add(self, mailbox: OwnedMailbox) -> None:
        """If a turn for the mailbox's previous state still runs, wait for it."""
        now = time.monotonic()
        look_at = NEVER if mailbox.id in self._running else now
        self._watched[mailbox.id] = watched = Watched(watch=self._attend(mailbox), look_at=look_at)
        self._queue.plan(watched, now=now)

    def _drop(self, id: int) -> None:
        """The mailbox no longer belongs to this process; a running turn notices that by the fence."""
        watched = self._watched.pop(id, None)
        if watched is None:
            return
        watched.dropped = True
        self._synced.pop(id, None)
        self._unregister(watched)
        if not watched.busy:
            watched.watch.close()

    def _note_reading(self, ids: set[int], *, now: float) -> None:
        """Note the mailboxes in which a reply is awaited or a reminder is to be sought; look at the new ones."""
        for id, watched in self._watched.items():
            watch = watched.watch
            if id in ids and not watch.reads_mail and watch.is_open:
                if watched.busy:
                    continue  # Asked again after its turn.
                watched.look_at = now
                self._queue.plan(watched, now=now)
            watch.reads_mail = id in ids

    def _note_due(self, due: dict[int, float]) -> None:
        now = time.monotonic()
        for id in self._due - due.keys():
            if id in self._watched:
                self._watched[id].due_at = NEVER
        for id, seconds in due.items():
            if id in self._watched:
                watched = self._watched[id]
                watched.due_at = max(now + seconds, watched.not_due_before)
                if seconds > 0:
                    # A message that was deleted or taken out until now is not to be reminded.
                    self._ask_at = now + ASK_DUE_SECONDS
                    if not watched.busy:
                        watched.look_at = min(watched.look_at, now)
                self._queue.plan(watched, now=now)
        self._due = set(due)

    def _record_synced(self) -> None:
        """Recorded in one statement for all mailboxes, so that an idle process hardly writes."""
        if self._synced:
            with self._engine.begin() as connection:
                mailbox_leases.record_syncs(connection, self._synced)
            self._synced = {}

    def _start_turns(self) -> None:
        now = time.monotonic()
        for watched in self._queue.start(now=now):
            self._unregister(watched)
            mailbox = watched.watch.mailbox
            self._running[mailbox.id] = watched
            watched.is_silent = False
            # Not while it may find a problem.
            self._synced.pop(mailbox.id, None)
            watched.looks = watched.look_at <= now or watched.signs_in
            watched.moves = watched.due_at <= now
            self._pool.submit(self._work, watched, look=watched.looks, move=watched.moves)

    def _work(self, watched: Watched, *, look: bool, move: bool) -> None:
        """Runs in a thread of the pool."""
        try:
            wait = watched.watch.turn(look=look, move=move)
        except SQLAlchemyError as error:
            log.warning("a mailbox is looked at later: %s", error_text(error))
            watched.watch.close()
            wait = Wait(seconds=DATABASE_AWAY_SECONDS if is_transient(error) else BROKEN_SECONDS, is_done=False)
        except Exception:
            log.exception("a mailbox could not be looked at")
            watched.watch.close()
            wait = Wait(seconds=BROKEN_SECONDS, is_done=False)
        self._finished.put((watched, wait))
        self._wake()

    def _finish_turns(self) -> None:
        while True:
            try:
                watched, wait = self._finished.get_nowait()
            except Empty:
                return
            self._finish_turn(watched, wait)

    def _finish_turn(self, watched: Watched, wait: Wait) -> None:
        now, mailbox = time.monotonic(), watched.watch.mailbox
        self._queue.finish(watched, now=now)
        del self._running[mailbox.id]
        if wait.signed_in is not None:
            self._queue.limits.signed_in(mailbox.host, seconds=wait.signed_in)
        elif wait.is_refused:
            self._queue.limits.refused(mailbox.host)
        if watched.dropped:
            watched.watch.close()
            self._start_successor(mailbox.id, now=now)
        elif wait.lost:
            self._drop(mailbox.id)
        else:
            self._leave_alone(watched, wait, now=now)

    def _start_successor(self, id: int, *, now: float) -> None:
        successor = self._watched.get(id)
        if successor is not None and successor.look_at == NEVER:
            successor.look_at = now
            self._queue.plan(successor, now=now)

    def _leave_alone(self, watched: Watched, wait: Wait, *, now: float) -> None:
        """Wait until the mailbox needs work again."""
        if watched.looks or not wait.listens or wait.at_once:
            watched.look_at = now if wait.at_once else now + wait.seconds
        if watched.moves or not wait.is_done:
            # Until the database is asked again, nothing is known to be due.
            watched.due_at = NEVER
        watched.not_due_before = 0.0 if wait.is_done else watched.look_at
        if wait.is_synced:
            self._note_synced(watched, now=now)
        else:
            watched.is_recorded = False
        if wait.listens and not wait.at_once:
            watched.fd = watched.watch.fileno()
            self._selector.register(watched.fd, selectors.EVENT_READ, watched)
        self._queue.plan(watched, now=now)

    def _note_synced(self, watched: Watched, *, now: float) -> None:
        """The first success is recorded soon, because it ends a previous problem."""
        mailbox = watched.watch.mailbox
        self._synced[mailbox.id] = mailbox.fence
        if not watched.is_recorded:
            watched.is_recorded = True
            self._record_at = min(self._record_at, now)

    def _unregister(self, watched: Watched) -> None:
        if watched.fd is not None:
            self._selector.unregister(watched.fd)
            watched.fd = None

    def _wait(self) -> None:
        """Wait until a mailbox has an event, a turn ends, or a message is due."""
        now = time.monotonic()
        for key, _ in self._selector.select(max(min(self._ask_at, self._queue.next_at) - now, 0.0)):
            if key.data is None:
                with suppress(BlockingIOError):
                    self._wakened.recv(4096)
            elif key.data.watch.read_events():
                # A connection that died has closed its descriptor, which another connection may get.
                self._unregister(key.data)
                key.data.look_at = 0.0
                self._queue.plan(key.data, now=now)
