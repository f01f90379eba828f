"""Sends notifications to servers that people named: claimed, connected, marked, sent, recorded.

A channel says what a notification is and what an answer to it means. If the channel marks, a notification is sent at
most once: the mark is committed when the connection is open, just before the request is sent, and a marked notification
without an answer is uncertain. In the other channels it is sent at least once: without an answer it is sent again.
"""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from random import Random
from threading import Event, Lock
from typing import ClassVar, Generic
from uuid import UUID

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db import notifications
from snoozer.db.errors import error_text
from snoozer.db.notifications import LEASE, C, ChannelName, Outcome, Retry
from snoozer.runtime import outbound_http
from snoozer.runtime.backoff import Backoff, delay
from snoozer.runtime.encryption import Undecryptable
from snoozer.runtime.failpoint import FailpointHook
from snoozer.runtime.outbound_http import Answer, HttpError, Limits

log = logging.getLogger(__name__)

# Bytes of an answer's body that are read.
MAX_ANSWER = 2_000
FIRST_DELAY = timedelta(seconds=5)
# The longest pause of a target that fails.
MAX_PAUSE = timedelta(minutes=30)
# How often to retry a push that fails on our side, for example by a defect.
MAX_DEFECTS = 3
# How long a result is kept in memory while the database is away.
RECORD_SECONDS = 50.0


class _NotSent(Exception):
    """Before the request was sent, the claim was lost, the process began to stop, or was suspended since the claim."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The request of a notification. `renew` stores its keys under the newest key of the ring."""

    url: str = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    method: str = "POST"
    renew: Callable[[Connection], object] | None = None


@dataclass(frozen=True, kw_only=True)
class Channel(ABC, Generic[C]):
    """One kind of notification. `keys` is the ring; `seconds` limit a whole request, with the lookup of its name."""

    name: ClassVar[ChannelName]
    word: ClassVar[str]
    marks: ClassVar[bool]
    # Concurrent requests of one process.
    senders: ClassVar[int]
    keys: Sequence[str] = field(repr=False)
    rng: Random
    seconds: float

    @abstractmethod
    def claim(self, connection: Connection, *, in_flight: Collection[C]) -> C | None:
        """The next notification that is due; None if none can be sent now. This process sends `in_flight`."""

    @abstractmethod
    def request(self, claimed: C) -> Request:
        """Raises Undecryptable; raises HttpError for what may not be sent."""

    @abstractmethod
    def lock_out(self, connection: Connection, claimed: C) -> None:
        """End what no key of the ring decrypts."""

    @abstractmethod
    def outcome(self, claimed: C, answer: Answer | HttpError) -> Outcome:
        """The result of an answer, or of a request without one."""

    @abstractmethod
    def retry(self, claimed: C, outcome: Outcome) -> Retry:
        """When to try again."""

    def delay(self, failures: int) -> timedelta:
        """A growing wait, two hours at most."""
        return delay(failures + 1, first=FIRST_DELAY, rng=self.rng)


@dataclass(frozen=True, kw_only=True)
class HttpSender(Generic[C]):
    """Sends what a channel claims. `stopping` is set when the process is to end: unsent notifications are then given
    back."""

    channel: Channel[C]
    engine: Engine
    allow_private: bool
    failpoint: FailpointHook
    stopping: Event
    _in_flight: dict[UUID, C] = field(default_factory=dict, init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    @property
    def word(self) -> str:
        return self.channel.word

    @property
    def senders(self) -> int:
        return self.channel.senders

    def claim(self) -> C | None:
        """The next notification that is due; None if none can be sent now."""
        with self._lock:
            in_flight = list(self._in_flight.values())
        with self.engine.begin() as connection:
            claimed = self.channel.claim(connection, in_flight=in_flight)
        if claimed is not None:
            with self._lock:
                self._in_flight[claimed.claim_token] = claimed
        return claimed

    def sweep(self) -> None:
        """End what no sender will; the rest that lost workers held is claimed again when its lease is over."""
        with self.engine.begin() as connection:
            notifications.sweep(connection, self.channel.name)

    def send(self, claimed: C) -> None:
        """Send one notification and record the result. Raises SQLAlchemyError if that cannot be written: with a mark it
        is then uncertain, otherwise it is sent again when the lease is over."""
        try:
            self._send(claimed, until=time.monotonic() + LEASE.total_seconds() - 2 * self.channel.seconds)
        finally:
            with self._lock:
                self._in_flight.pop(claimed.claim_token, None)

    def release_failed(self, claimed: C) -> None:
        """Retry a failure on our side like a failure of the target, pushes a few times. Raises SQLAlchemyError."""
        self._settle(claimed, Outcome(reason="error", ends=claimed.attempts >= MAX_DEFECTS))

    def _send(self, claimed: C, *, until: float) -> None:
        self._pass("claimed", claimed)
        try:
            request = self.channel.request(claimed)
        except Undecryptable:
            log.error("%s: its keys cannot be decrypted with SECRET_KEY", self.word)
            return self._write(lambda connection: self.channel.lock_out(connection, claimed))
        except HttpError as error:
            return self._settle(claimed, self.channel.outcome(claimed, error))
        if request.renew is not None:
            self._write(request.renew)
        began = time.monotonic()
        answer: Answer | HttpError
        try:
            answer = self._post(claimed, request, until=until)
            self._pass("answered", claimed)
        except _NotSent:
            return self._write(lambda connection: notifications.give_back(connection, claimed))
        except HttpError as error:
            answer = error
        answer_ms = round((time.monotonic() - began) * 1000)
        self._settle(claimed, replace(self.channel.outcome(claimed, answer), answer_ms=answer_ms))
        return self._pass("recorded", claimed)

    def _post(self, claimed: C, request: Request, *, until: float) -> Answer:
        limits = Limits(seconds=self.channel.seconds, size=MAX_ANSWER, allow_private=self.allow_private, cuts=True)

        def authorise() -> None:
            self._pass("connected", claimed)
            if self.stopping.is_set() or time.monotonic() > until:
                raise _NotSent
            if self.channel.marks:
                with self.engine.begin() as connection:
                    if not notifications.mark(connection, claimed):
                        raise _NotSent
                self._pass("marked", claimed)

        return outbound_http.request(
            request.method,
            request.url,
            limits=limits,
            body=request.body,
            headers=request.headers,
            before_sending=authorise,
        )

    def _settle(self, claimed: C, outcome: Outcome) -> None:
        if outcome.reason is None:
            return self._write(lambda connection: notifications.record(connection, claimed, outcome))
        retry = self.channel.retry(claimed, outcome)
        return self._write(lambda connection: notifications.release(connection, claimed, outcome, retry))

    def _write(self, statement: Callable[[Connection], object]) -> None:
        """Record a result, retrying while the database is away. Raises SQLAlchemyError if that lasts."""
        until, backoff = time.monotonic() + RECORD_SECONDS, Backoff(first=0.1, cap=5.0)
        while True:
            try:
                with self.engine.begin() as connection:
                    statement(connection)
                    return
            except SQLAlchemyError as error:
                if time.monotonic() >= until or self.stopping.is_set():
                    raise
                log.warning("the result of a %s is recorded later: %s", self.word, error_text(error))
                self.stopping.wait(backoff.next_wait())

    def _pass(self, step: str, claimed: C) -> None:
        self.failpoint(f"{self.word}_{step}", str(claimed.target))


def wait_of(answer: Answer, *, most: timedelta) -> timedelta:
    """The wait that a Retry-After requests, at most `most`."""
    return min(timedelta(seconds=outbound_http.seconds_of(answer.retry_after) or 0.0), most)
