"""One event to one endpoint: claimed, connected, sent, recorded.

Without a response, or if a worker is lost, a delivery is repeated with the same id: at least once. The events of one
snooze are sent in order. A failing endpoint is retried with growing waits for three days and is then switched off; 410
switches it off at once. A redirect counts as the response, and is not followed.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from random import Random
from threading import Event, Lock

from sqlalchemy import Connection, Engine

from snoozer.db import webhooks as ledger
from snoozer.db.webhooks import ClaimedDelivery, Outcome
from snoozer.notify import webhooks
from snoozer.notify.send_loop import write_fact
from snoozer.runtime import outbound_http
from snoozer.runtime.backoff import delay
from snoozer.runtime.encryption import Undecryptable
from snoozer.runtime.failpoint import FailpointHook
from snoozer.runtime.outbound_http import Answer, HttpError, Limits

log = logging.getLogger(__name__)

SENDERS = 8
# At most this many senders work on endpoints whose last response failed or was late.
TROUBLED = SENDERS // 2
# Concurrent deliveries to one endpoint, for different snoozes.
AT_ONCE = 4
# Limit for a whole request, including the lookup of its name. A claim lasts much longer than that.
REQUEST_SECONDS = 15.0
LEASE = timedelta(seconds=60)
FIRST_DELAY = timedelta(seconds=5)
# The longest pause of a failed endpoint; a delivery waits up to two hours (runtime/backoff.py).
MAX_PAUSE = timedelta(minutes=30)
MAX_RETRY_AFTER = timedelta(hours=6)
RETRY_FOR = timedelta(days=3)
# Bytes of the response body to store for the owner.
MAX_ANSWER = 2_000
GONE = 410


class _NotSent(Exception):
    """Before the request was sent, the process began to stop, or was suspended since the claim."""


class WebhookSender:
    """Sends claimed deliveries. `stopping` is set when the process is to end: unsent deliveries are then given back."""

    word = "webhook"

    def __init__(
        self,
        *,
        engine: Engine,
        keys: Sequence[str],
        allow_private: bool,
        failpoint: FailpointHook,
        rng: Random,
        stopping: Event,
        seconds: float = REQUEST_SECONDS,
        retry_for: timedelta = RETRY_FOR,
    ) -> None:
        self.engine, self.stopping = engine, stopping
        self._keys, self._allow_private, self._failpoint, self._rng = keys, allow_private, failpoint, rng
        self._seconds, self._retry_for = seconds, retry_for
        self._troubled: set[int] = set()
        self._lock = Lock()

    def claim(self) -> ClaimedDelivery | None:
        """The next delivery, for the endpoint whose turn it is; None if none can be sent now."""
        with self._lock:
            has_room = len(self._troubled) < TROUBLED
        with self.engine.begin() as connection:
            endpoint = ledger.pick(connection, at_once=AT_ONCE, any=has_room)
            claimed = None if endpoint is None else ledger.claim(connection, endpoint_id=endpoint, lease=LEASE)
        if claimed is not None and claimed.is_troubled:
            with self._lock:
                self._troubled.add(claimed.id)
        return claimed

    def sweep(self) -> None:
        """End deliveries of lost workers to endpoints that are off; others are claimed again when their
        lease is over."""
        with self.engine.begin() as connection:
            ledger.end_lapsed(connection)

    def send(self, claimed: ClaimedDelivery) -> None:
        """Send one delivery and record the result. Raises SQLAlchemyError if that cannot be written: it is repeated
        when the lease is over."""
        try:
            self._send(claimed, until=time.monotonic() + LEASE.total_seconds() - 2 * self._seconds)
        finally:
            with self._lock:
                self._troubled.discard(claimed.id)

    def release_failed(self, claimed: ClaimedDelivery) -> None:
        """Retry a failure on our side like a failure of the endpoint. Raises SQLAlchemyError."""
        self._failed(claimed, Outcome(reason="error"))

    def _send(self, claimed: ClaimedDelivery, *, until: float) -> None:
        endpoint = str(claimed.endpoint_id)
        self._failpoint("webhook_claimed", endpoint)
        try:
            request = webhooks.request(claimed, key_ring=self._keys)
        except Undecryptable:
            log.error("webhook: a secret cannot be decrypted with SECRET_KEY; its endpoint is switched off")
            return self._undecryptable(claimed)
        if request.renewed is not None:
            secret, previous = request.renewed
            self._write(
                lambda connection: ledger.replace_secrets(
                    connection, delivery=claimed, secret=secret, previous_secret=previous
                )
            )

        def connected() -> None:
            self._failpoint("webhook_connected", endpoint)
            if self.stopping.is_set() or time.monotonic() > until:
                raise _NotSent

        began = time.monotonic()
        try:
            answer = outbound_http.request(
                "POST",
                claimed.url,
                limits=Limits(seconds=self._seconds, size=MAX_ANSWER, allow_private=self._allow_private, cuts=True),
                body=request.body,
                headers=request.headers,
                before_sending=connected,
            )
        except _NotSent:
            return self._write(lambda connection: ledger.give_back(connection, delivery=claimed))
        except HttpError as error:
            return self._failed(claimed, Outcome(reason=error.code, answer_ms=_ms(began)))
        self._failpoint("webhook_answered", endpoint)
        self._answered(claimed, answer, answer_ms=_ms(began))
        return self._failpoint("webhook_recorded", endpoint)

    def _answered(self, claimed: ClaimedDelivery, answer: Answer, *, answer_ms: int) -> None:
        status, text = answer.status, answer.body.decode("utf-8", "replace").replace("\0", "\ufffd")
        taken = 200 <= status < 300
        reason = None if taken else "redirect" if 300 <= status < 400 else "gone" if status == GONE else "answer"
        outcome = Outcome(reason=reason, status=status, answer=text, answer_ms=answer_ms)
        if taken:
            return self._write(lambda connection: ledger.record(connection, delivery=claimed, outcome=outcome))
        asked = timedelta(seconds=outbound_http.seconds_of(answer.retry_after) or 0.0)
        return self._failed(claimed, outcome, wait=min(asked, MAX_RETRY_AFTER), gone=status == GONE)

    def _failed(
        self, claimed: ClaimedDelivery, outcome: Outcome, *, wait: timedelta = timedelta(0), gone: bool = False
    ) -> None:
        pause = max(min(self._delay(claimed.failures), MAX_PAUSE), wait)
        values = {"delay": max(self._delay(claimed.attempts), wait), "pause": pause, "retry_for": self._retry_for}
        self._write(
            lambda connection: ledger.release(connection, delivery=claimed, outcome=outcome, gone=gone, **values)
        )

    def _undecryptable(self, claimed: ClaimedDelivery) -> None:
        def end(connection: Connection) -> None:
            ledger.give_back(connection, delivery=claimed)
            ledger.switch_off(connection, id=claimed.endpoint_id, reason="key")

        self._write(end)

    def _delay(self, failures: int) -> timedelta:
        return delay(failures + 1, first=FIRST_DELAY, rng=self._rng)

    def _write(self, statement: Callable[[Connection], object]) -> None:
        write_fact(self.engine, statement, word=self.word, stopping=self.stopping)


def _ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
