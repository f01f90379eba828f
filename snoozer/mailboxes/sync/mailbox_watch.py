"""One watched mailbox: opens the connection, makes a pass, waits for events, and decides how to treat a failure and
when to try again."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from random import Random

from sqlalchemy import Engine

from snoozer.db import mailbox_leases
from snoozer.db.mailbox_leases import OwnedMailbox
from snoozer.mailboxes.imap.connection import Connection
from snoozer.mailboxes.imap.errors import ImapError
from snoozer.mailboxes.imap.idle import Event
from snoozer.mailboxes.sync.notices import ask_for_login
from snoozer.mailboxes.sync.session import INBOX, OwnerChanged, Session
from snoozer.mailboxes.sync.sync import Outcome, Sync
from snoozer.runtime.backoff import Backoff

log = logging.getLogger(__name__)

# Servers close idle connections after half an hour, routers after five minutes.
SCATTER = 0.2
# How often to ask a server that cannot report changes.
POLL_WITHOUT_IDLE = 15.0
INITIAL_BACKOFF, MAX_BACKOFF = 1.0, 300.0
# A connection that lasted this long does not count as a failure.
HEALTHY_AFTER = 60.0
# A refused sign-in is not repeated soon: servers lock accounts out.
AFTER_REFUSED_SIGN_IN = 1800.0
# Problems that only a person can solve are retried occasionally all the same.
AFTER_LASTING = 600.0
_LASTING = frozenset({"refused_address", "certificate", "denied", "quota", "oauth_client"})
# Dovecot (2.3) replaces the log of its list of folders after about sixty changes. From then on a connection reports
# changes in other folders up to half a minute late, so it is renewed before.
MAX_EVENTS = 30
# Servers occasionally refuse a good login, so the second refusal counts. A provider's refusal is final at once.
_REFUSED_LOGINS = frozenset({"login", "token", "sign_in"})
# If a server or a folder is slower than this, the turn ends, to free its thread for other mailboxes.
TURN_SECONDS = 120.0
# A server that reports endless changes gets a tenth of a processor: after a turn, the mailbox rests for nine times the
# processor time of the turn.
_REST = 9.0
# After this part of its time a turn stops if it can continue in the next one, behind due work elsewhere.
_ENOUGH = 0.25

Open = Callable[[OwnedMailbox], Connection]


@dataclass(frozen=True, kw_only=True)
class Wait:
    """How long to leave a mailbox alone: for `seconds`, or until its connection has an event if it `listens`. Moves
    that failed (not `is_done`) are not retried earlier. If it is `lost`, it belongs to another process. `is_synced`:
    everything is in its place. A turn that signed in took `signed_in` seconds for it, or was refused because of too
    many sign-ins (`is_refused`)."""

    seconds: float
    listens: bool = False
    at_once: bool = False
    is_done: bool = True
    lost: bool = False
    is_synced: bool = False
    signed_in: float | None = None
    is_refused: bool = False


class MailboxWatch:
    """`turn` is called by one thread at a time, and never raises ImapError or OwnerChanged. Its passes also read mail
    if `reads_mail` is set."""

    def __init__(
        self,
        engine: Engine,
        mailbox: OwnedMailbox,
        *,
        open: Open,
        session: Callable[[OwnedMailbox, Connection], Session],
        poll: float,
        retry_sign_in: float = AFTER_REFUSED_SIGN_IN,
        turn_seconds: float = TURN_SECONDS,
    ) -> None:
        self.mailbox = mailbox
        self.reads_mail = True
        self._turn_seconds = turn_seconds
        self._engine, self._open, self._session = engine, open, session
        self._poll, self._retry_sign_in = poll, retry_sign_in
        self._connection: Connection | None = None
        self._sync: Sync | None = None
        self._random = Random()  # noqa: S311
        self._backoff = Backoff(first=INITIAL_BACKOFF, cap=MAX_BACKOFF, rng=self._random, healthy_after=HEALTHY_AFTER)
        self._opened_at = 0.0
        self._opens_since: float | None = None
        self._ends_at = 0.0
        self._processor_seconds = 0.0
        self._signed_in: float | None = None
        self._is_hinted = False
        self._events = 0

    @property
    def is_open(self) -> bool:
        return self._connection is not None and self._connection.alive

    @property
    def heard_at(self) -> float:
        """When the server was heard last; only while the connection is open."""
        connection = self._connection
        return self._opened_at if connection is None else connection.heard_at

    @property
    def waits_since(self) -> float | None:
        """Since when the running turn has waited for the server, a sign-in included; None while it does not."""
        connection = self._connection
        return self._opens_since if connection is None else connection.waits_since

    def fileno(self) -> int:
        """The descriptor of the connection that waits for events."""
        if self._connection is None:
            raise ValueError("The mailbox is not open.")
        return self._connection.fileno()

    def read_events(self) -> bool:
        """Return whether the events hint that a pass is needed; called while the connection waits. A dead connection
        counts as a hint."""
        try:
            events = self._connection.read_idle() if self._connection is not None else []
        except ImapError:
            return True
        return self._is_hint(events)

    def turn(self, *, look: bool, move: bool) -> Wait:
        """Do the work: `look` for messages that people moved, `move` due ones. It ends within its time: a connection
        that takes longer is given up, and opened again later."""
        self._ends_at, self._signed_in = time.monotonic() + self._turn_seconds, None
        self._processor_seconds = time.thread_time()
        try:
            wait = self._turn(look=look, move=move)
        except OwnerChanged:
            self.close()
            wait = Wait(seconds=0, lost=True)
        except ImapError as error:
            wait = self._failed(error)
        return replace(wait, signed_in=self._signed_in)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._sync = None

    def _turn(self, *, look: bool, move: bool) -> Wait:
        if self._events > MAX_EVENTS and self._connection is not None and self._connection.supports("NOTIFY"):
            self.close()
        if self._connection is None or self._sync is None:
            self._opened_at, self._events = time.monotonic(), 0
            self._opens_since = self._opened_at
            try:
                self._connection = self._open(self.mailbox)
            finally:
                self._opens_since = None
            self._signed_in = time.monotonic() - self._opened_at
            self._sync = Sync(self._session(self.mailbox, self._connection))
            look = True
            self._connection.set_deadline(self._ends_at)
        elif not self._connection.alive:
            raise ImapError("gone", "The mail server ended the connection.")
        else:
            self._connection.set_deadline(self._ends_at)
            look = self._is_hint(self._connection.end_idle()) or look
        is_hinted, self._is_hinted = self._is_hinted, False
        enough = time.monotonic() + self._turn_seconds * _ENOUGH
        outcome = self._sync.run(
            look=look or is_hinted, move=move, reads=self.reads_mail, is_hinted=is_hinted, ends_at=enough
        )
        return self._start_waiting(self._connection, outcome)

    def _start_waiting(self, connection: Connection, outcome: Outcome) -> Wait:
        seconds = self._poll * (1 + SCATTER * (2 * self._random.random() - 1))
        is_done, is_synced = outcome.is_done, outcome.is_done and not outcome.goes_on
        if not connection.supports("IDLE"):
            seconds = min(seconds, POLL_WITHOUT_IDLE)
            return Wait(seconds=seconds, is_done=is_done, is_synced=is_synced, at_once=outcome.goes_on)
        has_news = self._select_inbox(connection)
        has_event = (connection.start_idle() and self.read_events()) or has_news
        if has_event and not outcome.goes_on:
            rest = _REST * (time.thread_time() - self._processor_seconds)
            return Wait(seconds=min(rest, seconds), is_done=is_done, is_synced=is_synced)
        return Wait(seconds=seconds, listens=True, at_once=outcome.goes_on, is_done=is_done, is_synced=is_synced)

    def _is_hint(self, events: Iterable[Event]) -> bool:
        """Whether a pass is needed: a message was moved, or arrived while a snooze waits for a reply."""
        kinds = set()
        for event in events:
            self._is_hinted = self._is_hinted or self._hints_at_a_snooze(event)
            kinds.add(event.kind)
            self._events += 1
        came = "exists" in kinds and self._replies_read_to is not None
        return self._is_hinted or came or "folder" in kinds

    def _hints_at_a_snooze(self, event: Event) -> bool:
        """Whether a message left the folder, perhaps for a folder that means a time, or has the flag that snoozes."""
        flag = (self.mailbox.snooze_flag or "").lower()
        return event.kind == "expunged" or event.deleted or flag in event.flags

    def _select_inbox(self, connection: Connection) -> bool:
        """Return whether a message was moved, or a possible reply has arrived, since the pass: from here on, the server
        reports it."""
        read_to = self._replies_read_to
        if self._sync is None or (read_to is None and connection.selected == INBOX):
            return False
        uidnext = connection.select(INBOX).uidnext
        return self._sync.has_news() or (read_to is not None and uidnext > read_to)

    @property
    def _replies_read_to(self) -> int | None:
        return None if self._sync is None else self._sync.replies_read_to

    def _failed(self, error: ImapError) -> Wait:
        """Decide after a failure when to try again, and record the problem for the mailbox's owner."""
        is_cut = time.monotonic() >= self._ends_at
        worked_for = time.monotonic() - self._opened_at if self._connection is not None and not is_cut else 0.0
        is_refused = self._connection is None and error.code in ("throttled", "gone")
        self.close()
        wait = self._backoff.next_wait(worked_for=worked_for)
        if error.code == "gone" and worked_for > HEALTHY_AFTER:
            # Servers and routers end connections now and then.
            return Wait(seconds=0.0, is_done=False)
        if error.code in _REFUSED_LOGINS:
            wait = max(wait, self._retry_sign_in)
        elif error.code in _LASTING:
            wait = max(wait, AFTER_LASTING)
        elif error.seconds is not None:
            wait = max(wait, min(error.seconds, MAX_BACKOFF))
        log.warning("mailbox %d cannot be used (%s); the next try is in %.0f s", self.mailbox.id, error.code, wait)
        return replace(self._record(error, wait=wait), is_refused=is_refused)

    def _record(self, error: ImapError, *, wait: float) -> Wait:
        is_final = error.code == "sign_in" or self._backoff.failures > 1
        # A mailbox that is being disconnected is never paused: given up here, it would be taken and tried again at
        # once.
        refused_again = error.code in _REFUSED_LOGINS and is_final and self.mailbox.state != "leaving"
        with self._engine.begin() as connection:
            health = mailbox_leases.record_problem(
                connection, id=self.mailbox.id, fence=self.mailbox.fence, problem=error.code, pause=refused_again
            )
            if health is None:
                return Wait(seconds=0, lost=True)
            if refused_again and health.newly_paused:
                ask_for_login(connection, self.mailbox)
        return Wait(seconds=wait, lost=refused_again, is_done=False)
