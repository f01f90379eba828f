"""One push to one device, by the ledger's protocol: claimed, connected, marked, sent, recorded.

The mark is committed when the connection to the push service is open, just before the request is sent. If a push fails
before the mark, it was not sent and is tried again; after it, the response decides, and without a response the push is
uncertain and is not sent again: a duplicate notification is worse than none.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from threading import Event

from sqlalchemy import Connection, Engine

from snoozer.db import push
from snoozer.db.push import ClaimedPush
from snoozer.notify import push_encryption, push_message
from snoozer.notify.send_loop import write_fact
from snoozer.runtime import encryption, outbound_http
from snoozer.runtime.backoff import delay
from snoozer.runtime.encryption import Undecryptable
from snoozer.runtime.failpoint import FailpointHook
from snoozer.runtime.outbound_http import Answer, HttpError, Limits
from snoozer.translations import gettext as _
from snoozer.translations import language_of, speaking

log = logging.getLogger(__name__)

# Limit for a whole request, including the lookup of its name. A claim and a mark last much longer than that.
REQUEST_SECONDS = 10.0
LEASE = timedelta(seconds=60)
FIRST_DELAY = timedelta(seconds=5)
MAX_DELAY = timedelta(minutes=30)
# How often to retry a push that fails on our side, for example by a defect.
MAX_DEFECTS = 3
# A response is a sentence at most.
MAX_ANSWER = 64 * 1024
# Concurrent pushes, and how many one sweep ends.
SENDERS = 4
MAX_EXPIRED = 500

GONE = frozenset({404, 410})
# Its push service does not know our key, or the subscription used another one.
REFUSED = frozenset({400, 401, 403})
_NEVER = frozenset({"refused_address", "url", "insecure", "port"})


class _NotMarked(Exception):
    """Before the request was sent, the claim was lost or the process began to stop."""


@dataclass(frozen=True, kw_only=True)
class PushSender:
    """Sends claimed pushes. `contact` is the address for push services' questions; `stopping` is set when the process
    is to end: pushes without a mark are then given back."""

    engine: Engine
    keys: Sequence[str] = field(repr=False)
    contact: str
    allow_private: bool
    failpoint: FailpointHook
    rng: Random
    stopping: Event
    seconds: float = REQUEST_SECONDS
    word: str = field(default="push", init=False)

    def claim(self) -> ClaimedPush | None:
        """The next push that is due; None if there is none."""
        with self.engine.begin() as connection:
            return push.claim(connection, lease=LEASE)

    def send(self, claimed: ClaimedPush) -> None:
        """Send one push and record the result. Raises SQLAlchemyError if that cannot be written: before the mark the
        push is tried again when the lease is over, after it the push is then uncertain."""
        self.failpoint("push_claimed", str(claimed.device_id))
        try:
            headers, body = self._request(claimed)
        except Undecryptable:
            log.error("push: the key that signs pushes cannot be decrypted with SECRET_KEY")
            return self._refuse(claimed, "key", None)
        marked = Event()
        try:
            answer = self._post(claimed, headers, body, marked)
        except _NotMarked:
            return self._give_back(claimed)
        except HttpError as error:
            return self._failed(claimed, error, marked=marked.is_set())
        self.failpoint("push_answered", str(claimed.device_id))
        return self._answered(claimed, answer)

    def sweep(self) -> None:
        """End expired pushes, and pushes that a lost worker had marked."""
        with self.engine.begin() as connection:
            push.expire(connection, batch_size=MAX_EXPIRED)

    def release_failed(self, claimed: ClaimedPush) -> None:
        """Retry a push that failed on our side a few times; if its request may have been sent, it is uncertain. Raises
        SQLAlchemyError."""
        with self.engine.begin() as connection:
            push.mark_uncertain(connection, push=claimed, reason="error", delay=timedelta(0))
            if claimed.attempts < MAX_DEFECTS:
                delay = self._delay(claimed.attempts)
                push.release(connection, push=claimed, reason="error", status=None, delay=delay)
            else:
                push.refuse(connection, push=claimed, reason="error", status=None)

    def _post(self, claimed: ClaimedPush, headers: dict[str, str], body: bytes, marked: Event) -> Answer:
        def mark() -> None:
            if self.stopping.is_set():
                raise _NotMarked
            with self.engine.begin() as connection:
                if not push.mark(connection, push=claimed, lease=LEASE):
                    raise _NotMarked
            marked.set()
            self.failpoint("push_marked", str(claimed.device_id))

        return outbound_http.request(
            "POST",
            claimed.endpoint,
            limits=Limits(seconds=self.seconds, size=MAX_ANSWER, allow_private=self.allow_private),
            body=body,
            headers=headers,
            before_sending=mark,
        )

    def _request(self, claimed: ClaimedPush) -> tuple[dict[str, str], bytes]:
        """Headers and body. Raises Undecryptable."""
        private, renewed = encryption.reopen(self.keys, claimed.signing_key)
        if renewed is not None:
            with self.engine.begin() as connection:
                push.replace_private_key(connection, id=claimed.key_id, known=claimed.signing_key, private_key=renewed)
        with speaking(language_of(claimed.locale)):
            content = push_message.compose(
                snooze_id=claimed.snooze_id,
                scheduled_for=claimed.scheduled_for,
                subject=claimed.subject,
                words={
                    "title": _("A message is back"),
                    "done": _("Done"),
                    "hour": _("+1 h"),
                    "tomorrow": _("Tomorrow"),
                    "unsaved": _("Not saved: the server cannot be reached."),
                },
                keys=self.keys,
            )
        headers = {
            "Authorization": push_encryption.authorization(
                claimed.endpoint, private_key=private, subject=self.contact, now=time.time()
            ),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(claimed.seconds_left),
            "Urgency": "high",
        }
        body = push_encryption.encrypt(content, public_key=claimed.public_key, auth_secret=claimed.auth_secret)
        return headers, body

    def _answered(self, claimed: ClaimedPush, answer: Answer) -> None:
        status = answer.status
        if 200 <= status < 300:
            self._write(lambda connection: push.record(connection, push=claimed, status=status))
            self.failpoint("push_recorded", str(claimed.device_id))
        elif status in GONE:
            self._refuse(claimed, "gone", status, gone=True)
        elif status == 429 or status >= 500:
            self._release(claimed, "busy", status, wait=_wait(answer))
        else:
            self._refuse(claimed, "refused" if status in REFUSED else "answer", status)

    def _failed(self, claimed: ClaimedPush, error: HttpError, *, marked: bool) -> None:
        if marked:
            self._write(
                lambda connection: push.mark_uncertain(
                    connection, push=claimed, reason=error.code, delay=self._delay(claimed.failures)
                )
            )
        elif error.code in _NEVER:
            self._refuse(claimed, error.code, None)
        else:
            self._release(claimed, error.code, None)

    def _release(
        self, claimed: ClaimedPush, reason: str, status: int | None, *, wait: timedelta = timedelta(0)
    ) -> None:
        """Retry after a growing wait, and not before the time that the push service requested."""
        pause = max(self._delay(max(claimed.attempts, claimed.failures)), wait)
        self._write(
            lambda connection: push.release(connection, push=claimed, reason=reason, status=status, delay=pause)
        )

    def _refuse(self, claimed: ClaimedPush, reason: str, status: int | None, *, gone: bool = False) -> None:
        self._write(lambda connection: push.refuse(connection, push=claimed, reason=reason, status=status, gone=gone))

    def _give_back(self, claimed: ClaimedPush) -> None:
        with self.engine.begin() as connection:
            push.give_back(connection, push=claimed)

    def _delay(self, failures: int) -> timedelta:
        return min(delay(failures + 1, first=FIRST_DELAY, rng=self.rng), MAX_DELAY)

    def _write(self, statement: Callable[[Connection], object]) -> None:
        write_fact(self.engine, statement, word=self.word, stopping=self.stopping)


def _wait(answer: Answer) -> timedelta:
    """The wait that a Retry-After requests, at most MAX_DELAY."""
    return min(timedelta(seconds=outbound_http.seconds_of(answer.retry_after) or 0.0), MAX_DELAY)
