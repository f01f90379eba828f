"""Delivers one reminder: body, mark, local fence, final dot, reply; then the outcome is recorded. In that order."""

import asyncio
import hashlib
import logging
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from opentelemetry import trace
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer import telemetry
from snoozer.db import ledger
from snoozer.db.engine import autocommit
from snoozer.db.errors import is_transient
from snoozer.delivery.claiming import Delivery, DeliveryConfig, FailpointHook
from snoozer.delivery.executor import BatchExecutor
from snoozer.delivery.outcome_recorder import OutcomeRecorder, uncertain_error
from snoozer.domain.reminder import MAX_RESENDS, Claim, DeliveryOutcome, Send
from snoozer.smtp.connection_pool import ConnectionPool
from snoozer.smtp.errors import CircuitOpen, NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.smtp.session import SmtpSession

log = logging.getLogger(__name__)

BYTES_DIFFER = (
    "A first copy may have been sent, and templates, keys or settings have changed since, so a second copy would "
    "differ from it. Reactivate to send it all the same"
)
COPY_IN_FLIGHT = "An earlier copy may be on its way; the snooze is looked at again after the hold"


class DeliveryCancelled(Exception):
    """The worker shuts down; this mail gets no dot."""


class Undeliverable(Exception):
    """The reminder cannot be sent as it is."""

    def __init__(self, reason: str, *, attempts_used: int) -> None:
        super().__init__(reason)
        self.attempts_used = attempts_used


class Cancellation:
    """Cancels deliveries that have no mark yet. For one event loop."""

    def __init__(self) -> None:
        self._cancelled = False
        self._tasks: set[asyncio.Task[object]] = set()

    @contextmanager
    def until_marked(self) -> Iterator[None]:
        """Raises DeliveryCancelled in the current task once `cancel_all` was called."""
        task = asyncio.current_task()
        if task is None or self._cancelled:
            raise DeliveryCancelled
        self._tasks.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            task.uncancel()
            raise DeliveryCancelled from None
        finally:
            self._tasks.discard(task)

    def cancel_all(self) -> None:
        """Cancel the tasks inside `until_marked` now and those that enter it later."""
        self._cancelled = True
        for task in self._tasks:
            task.cancel()


@dataclass(frozen=True, kw_only=True)
class Deliverer:
    """Delivers reminders, one call each, any number at once, on one event loop.

    `compose` returns the bytes of a send. `lease_is_safe` is the local fence: by the boot-time clock, neither the
    lease of this snooze nor the last heartbeat is too old.
    """

    engine: Engine
    pool: ConnectionPool
    outcomes: OutcomeRecorder
    config: DeliveryConfig
    compose: Callable[[Send], bytes]
    failpoint: FailpointHook
    lease_is_safe: Callable[[int], bool]

    @cached_property
    def cancellation(self) -> Cancellation:
        return Cancellation()

    @cached_property
    def _marks(self) -> BatchExecutor[tuple[Send, str], bool]:
        return BatchExecutor(self._mark, name="marks")

    def _mark(self, dots: Sequence[tuple[Send, str]]) -> list[bool]:
        with autocommit(self.engine) as connection:
            authorised = ledger.mark(connection, dots=dots)
        return [send.id in authorised for send, _ in dots]

    async def deliver(self, delivery: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        """Deliver one reminder, with its span and its metrics. Never raises: one bad reminder must not stop the worker.

        `on_accepted` is called when the server has accepted the mail. Returns LOST, which leaves the claim to recovery,
        where the database goes away at a bad moment.
        """
        began = time.monotonic()
        with telemetry.delivery_span(traceparent=delivery.claim.traceparent, snooze_id=delivery.claim.id):
            try:
                outcome = await self._deliver(delivery, on_accepted)
            except Exception as error:
                outcome = await self._record_crash(delivery, error)
        telemetry.count_delivery(outcome, milliseconds=(time.monotonic() - began) * 1000)
        return outcome

    async def _deliver(self, delivery: Delivery, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        claim, refused = delivery.claim, delivery.error
        try:
            if refused is not None:
                return await self.outcomes.release(
                    claim, error=refused.error, attempts_used=refused.attempts_used, permanent=refused.permanent
                )
            if delivery.send is None:
                return await self._resolve_known(claim)
            return await self._send(claim, delivery.send, on_accepted=on_accepted)
        except SQLAlchemyError as error:
            if not is_transient(error):
                raise
            return DeliveryOutcome.LOST

    async def _record_crash(self, delivery: Delivery, error: Exception) -> DeliveryOutcome:
        # Without the error's text: a database error holds the values of a row.
        where, kind = "".join(traceback.format_tb(error.__traceback__)), type(error).__name__
        log.error("delivery of snooze %d broke down (%s)\n%s", delivery.claim.id, kind, where)
        trace.get_current_span().record_exception(error)
        sentence = f"The delivery broke down ({kind})"
        try:
            if delivery.send is None:
                return await self.outcomes.release(delivery.claim, error=sentence, attempts_used=1)
            return await self.outcomes.record_crash(delivery.claim, delivery.send, error=sentence)
        except SQLAlchemyError:
            return DeliveryOutcome.LOST

    async def _send(self, claim: Claim, send: Send, *, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        ends = time.monotonic() + self.config.deadline
        try:
            with self._marks.expecting():
                session, digest = await self._send_body(send)
        except Undeliverable as error:
            return await self.outcomes.release(
                claim, error=str(error), attempts_used=error.attempts_used, permanent=True
            )
        except (CircuitOpen, DeliveryCancelled):
            return await self.outcomes.unclaim(claim)
        except ServerUnavailable as unavailable:
            return await self.outcomes.defer(claim, error=str(unavailable))
        except Rejected as rejected:
            return await self.outcomes.reject(claim, send, rejected)
        denied = await self._authorise_dot(claim, session, send, digest=digest)
        if denied is not None:
            return denied
        left = max(1.0, ends - time.monotonic())
        return await self._send_dot(claim, send, session, deadline=left, on_accepted=on_accepted)

    async def _send_body(self, send: Send) -> tuple[SmtpSession, str]:
        """Send the whole mail but its final dot; returns the session that carries it and the sha256 of its bytes."""
        try:
            message = self.compose(send)
        except ValueError as error:
            raise Undeliverable(f"The reminder cannot be written. {error}", attempts_used=1) from error
        digest = hashlib.sha256(message).hexdigest()
        if send.bytes_sha256 not in (None, digest):
            raise Undeliverable(BYTES_DIFFER, attempts_used=0)
        half = self.config.deadline / 2
        with self.cancellation.until_marked():
            return await self.pool.send_body(rcpt_to=send.user_email, message=message, deadline=half), digest

    async def _authorise_dot(
        self, claim: Claim, session: SmtpSession, send: Send, *, digest: str
    ) -> DeliveryOutcome | None:
        """The mark, then the local fence; None when the dot may be sent. Otherwise the connection is dropped."""
        marked = fenced = False
        try:
            self.failpoint("body", send.message_id)
            marked = await self._marks((send, digest))
            if marked:
                self.failpoint("marked", send.message_id)
                fenced = self.lease_is_safe(send.snooze_id)
        except SQLAlchemyError as error:
            # The commit may have been done although its reply was lost, but no dot was sent.
            if not is_transient(error):
                raise
            marked = True
        finally:
            if not fenced:
                self.pool.discard(session)
        if not marked:
            # The claim was lost or the send changed; the next claim of the row finds out.
            return await self.outcomes.unclaim(claim)
        if not fenced:
            await self.outcomes.abort_send(send)
            return DeliveryOutcome.LOST
        return None

    async def _send_dot(
        self, claim: Claim, send: Send, session: SmtpSession, *, deadline: float, on_accepted: Callable[[], None]
    ) -> DeliveryOutcome:
        try:
            with self.outcomes.expecting():
                reply = await session.send_dot(deadline=deadline, on_dot=lambda: self.failpoint("dot", send.message_id))
        except ServerUnavailable as unavailable:
            self.pool.lost(session, reason=str(unavailable))
            outcome = await self.outcomes.defer(claim, error=str(unavailable))
            await self.outcomes.abort_send(send)
            return outcome
        except Rejected as rejected:
            self.pool.rejected(session, rejected, recipient=send.user_email)
            return await self.outcomes.reject(claim, send, rejected)
        except NoReplyAfterData as silence:
            self.pool.lost(session, reason=str(silence))
            return await self.outcomes.mark_uncertain(claim, send, reason=str(silence))
        except BaseException:
            self.pool.discard(session)
            raise
        self.failpoint("replied", send.message_id)
        self.pool.release(session)
        on_accepted()
        outcome = await self.outcomes.complete(
            claim, send, reply, recorded=lambda: self.failpoint("recorded", send.message_id)
        )
        self.failpoint("finalized", send.message_id)
        return outcome

    async def _resolve_known(self, claim: Claim) -> DeliveryOutcome:
        """The ledger did not reserve it: it was sent already, or may have been and is on hold."""
        known = await self.outcomes.db_retry.in_thread(self._lookup, claim)
        if known is not None and known.state == "sent":
            return await self.outcomes.finalize(claim, outcome=DeliveryOutcome.ALREADY_SENT)
        exhausted = known is not None and known.resends >= MAX_RESENDS
        if known is not None and known.state == "uncertain" and (exhausted or self.config.uncertainty.for_operator):
            return await self.outcomes.release(claim, error=uncertain_error(exhausted), attempts_used=0, permanent=True)
        wait = known.hold_left if known is not None and known.hold_left is not None else self.config.first_delay
        return await self.outcomes.release(claim, error=COPY_IN_FLIGHT, attempts_used=0, delay=wait, is_failure=False)

    def _lookup(self, claim: Claim) -> ledger.KnownSend | None:
        with self.engine.begin() as connection:
            return ledger.lookup(connection, snooze_id=claim.id, uncertainty=self.config.uncertainty)
