"""Deliveries that a worker may still call back when it leaves: their mails have no mark yet."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db import ledger
from snoozer.db.engine import autocommit, is_transient
from snoozer.db.ledger import MAX_RESENDS
from snoozer.delivery.batching import BatchExecutor
from snoozer.delivery.claiming import Delivery, DeliveryConfig, FailpointHook, ReserveError
from snoozer.delivery.outcome import OutcomeRecorder, uncertain_error
from snoozer.domain.reminder import Claim, DeliveryOutcome, Send
from snoozer.smtp.connection_pool import ConnectionPool
from snoozer.smtp.errors import CircuitOpen, NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.smtp.session import SmtpSession


class DeliveryCancelled(Exception):
    """The worker leaves; this mail gets no dot."""


class Cancellation:
    """For one event loop."""

    def __init__(self) -> None:
        self._called = False
        self._begun: set[asyncio.Task[object]] = set()

    @contextmanager
    def until_marked(self) -> Iterator[None]:
        """What the current task does in here ends with CalledBack when it is called back."""
        task = asyncio.current_task()
        if task is None or self._called:
            raise DeliveryCancelled
        self._begun.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._called:
                raise
            task.uncancel()
            raise DeliveryCancelled from None
        finally:
            self._begun.discard(task)

    def cancel_all(self) -> None:
        """All that are there, and whoever comes later."""
        self._called = True
        for task in self._begun:
            task.cancel()


BYTES_DIFFER = (
    "A first copy may have been sent, and templates, keys or settings have changed since, so a second copy would "
    "differ from it. Reactivate to send it all the same"
)
COPY_IN_FLIGHT = "An earlier copy may be on its way; the snooze is looked at again after the hold"


class Undeliverable(Exception):
    """The reminder cannot go out as it is; so many attempts are spent on that."""

    def __init__(self, why: str, *, spent: int) -> None:
        super().__init__(why)
        self.attempts_used = spent


@dataclass(frozen=True, kw_only=True)
class Deliverer:
    """Delivers reminders, one call each, as many at once as one likes, on one event loop.

    `compose` makes the bytes of a send. `passage` hears each step. `still_ours` is the local fence: by the boot-time
    clock, neither the lease of this snooze nor the last heartbeat is too old.
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
        """Calls back what has no mark yet."""
        return Cancellation()

    @cached_property
    def _marks(self) -> BatchExecutor[tuple[Send, str], bool]:
        return BatchExecutor(self._mark, name="marks")

    def _mark(self, dots: Sequence[tuple[Send, str]]) -> list[bool]:
        with autocommit(self.engine) as connection:
            authorised = ledger.mark(connection, dots=dots)
        return [send.id in authorised for send, _ in dots]

    async def deliver(self, delivery: Delivery, *, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        """Take one reminder to its verdict. A database that goes away at a bad moment leaves it to recovery (LOST).

        `answered` hears that the server has taken the mail, so that all that is left is to write it down.
        """
        try:
            if delivery.error is not None:
                return await self._reject(delivery.claim, delivery.error)
            if delivery.send is None:
                return await self._resolve_known(delivery.claim)
            return await self._send(delivery.claim, delivery.send, on_accepted=on_accepted)
        except SQLAlchemyError as error:
            if not is_transient(error):
                raise
            return DeliveryOutcome.LOST

    async def _send(self, claim: Claim, send: Send, *, on_accepted: Callable[[], None]) -> DeliveryOutcome:
        ends = time.monotonic() + self.config.deadline
        try:
            with self._marks.expecting():
                session, digest = await self._send_body(send)
        except Undeliverable as unfit:
            return await self.outcomes.release(
                claim, error=str(unfit), attempts_used=unfit.attempts_used, permanent=True
            )
        except (CircuitOpen, DeliveryCancelled):
            return await self.outcomes.unclaim(claim)
        except ServerUnavailable as down:
            return await self.outcomes.defer(claim, error=str(down))
        except Rejected as refused:
            return await self.outcomes.reject(claim, send, refused)
        denied = await self._authorise_dot(claim, session, send, digest=digest)
        if denied is not None:
            return denied
        left = max(1.0, ends - time.monotonic())
        return await self._send_dot(claim, send, session, deadline=left, on_accepted=on_accepted)

    async def _send_body(self, send: Send) -> tuple[SmtpSession, str]:
        """The whole mail but its final dot; answers where it stands and the sha256 of its bytes."""
        try:
            message = self.compose(send)
        except ValueError as unfit:
            raise Undeliverable(f"The reminder cannot be written. {unfit}", spent=1) from unfit
        digest = hashlib.sha256(message).hexdigest()
        if send.bytes_sha256 not in (None, digest):
            raise Undeliverable(BYTES_DIFFER, spent=0)
        half = self.config.deadline / 2
        with self.cancellation.until_marked():
            return await self.pool.send_body(rcpt_to=send.user_email, message=message, deadline=half), digest

    async def _authorise_dot(
        self, claim: Claim, session: SmtpSession, send: Send, *, digest: str
    ) -> DeliveryOutcome | None:
        """The mark, then the local fence; None when the dot may leave. On any doubt the connection is dropped."""
        marked = fenced = False
        try:
            self.failpoint("body", send.message_id)
            marked = await self._marks((send, digest))
            if marked:
                self.failpoint("marked", send.message_id)
                fenced = self.lease_is_safe(send.snooze_id)
        except SQLAlchemyError as error:
            # The commit may have been lost on its way back, but no dot left.
            if not is_transient(error):
                raise
            marked = True
        finally:
            if not fenced:
                self.pool.discard(session)
        if not marked:
            # The claim is not ours any more, or the entry changed, and who claims the row anew finds out.
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
        except ServerUnavailable as down:
            self.pool.lost(session, reason=str(down))
            verdict = await self.outcomes.defer(claim, error=str(down))
            await self.outcomes.abort_send(send)
            return verdict
        except Rejected as refused:
            self.pool.rejected(session, refused)
            return await self.outcomes.reject(claim, send, refused)
        except NoReplyAfterData as silence:
            self.pool.lost(session, reason=str(silence))
            return await self.outcomes.mark_uncertain(claim, send, reason=str(silence))
        except BaseException:
            self.pool.discard(session)
            raise
        self.failpoint("replied", send.message_id)
        self.pool.release(session)
        on_accepted()
        verdict = await self.outcomes.complete(
            claim, send, reply, recorded=lambda: self.failpoint("recorded", send.message_id)
        )
        self.failpoint("finalized", send.message_id)
        return verdict

    async def _reject(self, claim: Claim, flaw: ReserveError) -> DeliveryOutcome:
        """The ledger cannot take the row: a case, or a failure like another."""
        return await self.outcomes.release(
            claim, error=flaw.error, attempts_used=flaw.attempts_used, permanent=flaw.permanent
        )

    async def _resolve_known(self, claim: Claim) -> DeliveryOutcome:
        """The ledger would not reserve it: it was sent, or may have been and is on hold."""
        known = await self.outcomes.db_retry.in_thread(self._lookup, claim)
        if known is not None and known.state == "sent":
            return await self.outcomes.finalize(claim, verdict=DeliveryOutcome.ALREADY_SENT)
        exhausted = known is not None and known.resends >= MAX_RESENDS
        if known is not None and known.state == "uncertain" and (exhausted or self.config.uncertainty.for_operator):
            return await self.outcomes.release(claim, error=uncertain_error(exhausted), attempts_used=0, permanent=True)
        pause = known.hold_left if known is not None and known.hold_left is not None else self.config.first_delay
        return await self.outcomes.retry_later(claim, reason=COPY_IN_FLIGHT, delay=pause)

    def _lookup(self, claim: Claim) -> ledger.KnownSend | None:
        with self.engine.begin() as connection:
            return ledger.lookup(connection, snooze_id=claim.id, uncertainty=self.config.uncertainty)
