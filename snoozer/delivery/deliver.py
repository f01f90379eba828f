"""Delivers one reminder: body, mark, local fence, final dot, reply, in that order; then its outcome is settled.

A delivery has no task: the callbacks of its mail advance it, on the event loop of the pipeline.
"""

import hashlib
import logging
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from opentelemetry.trace import use_span

from snoozer import telemetry
from snoozer.delivery.claiming import Delivery, DeliveryConfig
from snoozer.delivery.holds import uncertain_error
from snoozer.delivery.settling import Ending
from snoozer.delivery.verdicts import Dot, RefusedRow
from snoozer.mail import compose
from snoozer.mail.smtp.connection_pool import ConnectionPool
from snoozer.mail.smtp.errors import CircuitOpen, NoReplyAfterData, Rejected, ServerUnavailable
from snoozer.mail.smtp.session import SmtpSession
from snoozer.mail.smtp.transport import Reply
from snoozer.queue.ledger import Fact, Refusal
from snoozer.queue.limits import MAX_RESENDS, MIN_REFUSALS, REFUSED_FOR
from snoozer.queue.reminder import Claim, DeliveryOutcome, Failure, Send
from snoozer.runtime import backoff
from snoozer.runtime.failpoint import FailpointHook
from snoozer.telemetry import labels

log = logging.getLogger(__name__)

BYTES_DIFFER = (
    "A first copy may have been sent, and templates, keys or settings have changed since, so a second copy would "
    "differ from it. Reactivate to send it all the same"
)
DOT_NOT_SENT = "The final dot was never sent"
MIN_DOT_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Shared by all deliveries of a worker.

    `compose` returns the bytes of a send. `lease_is_safe` is the local fence: by the boot-time clock, neither the
    lease of this claim nor the last heartbeat is too old. `envelope_sender` returns the sender of the envelope.
    `refused_for` is how long a recipient whom the server refuses for now is tried again.
    """

    pool: ConnectionPool
    config: DeliveryConfig
    compose: Callable[[Send], bytes]
    failpoint: FailpointHook
    lease_is_safe: Callable[[Claim], bool]
    envelope_sender: Callable[[Send], str]
    rng: Random
    refused_for: timedelta = REFUSED_FOR


class Job:
    """One delivery, from a claim with its mail to an `Ending`; the mail of an SMTP session.

    `on_body_sent` is called when its dot must be authorised, and then `send_dot`, `deny` or `refuse`; `on_retry` when
    it needs another session; `on_end` once, with the ending.
    """

    def __init__(
        self,
        delivery: Delivery,
        *,
        tools: Tools,
        on_body_sent: "Callable[[Job], None]",
        on_retry: "Callable[[Job], None]",
        on_end: "Callable[[Job, Ending], None]",
    ) -> None:
        self.claim, self.delivery = delivery.claim, delivery
        self.body_deadline = tools.config.deadline / 2
        self.message = b""
        self.digest = ""
        self.session: SmtpSession | None = None
        self.began = self.queued_at = self._accepted_at = time.monotonic()
        self.mark_tries = 0
        self.is_marking = self.has_ended = False
        # A row that was read ahead is claimed with its dot.
        self.is_claimed = delivery.version is None
        self._marked = self._dotted = False
        self._tools = tools
        self._on_body_sent = on_body_sent
        self._on_retry = on_retry
        self._on_end = on_end
        self._error: str | None = None
        self._span = telemetry.delivery_span(
            traceparent=self.claim.traceparent, snooze_id=self.claim.id, worker=tools.config.worker
        )

    @property
    def send(self) -> Send:
        """Raises LookupError if there is no mail."""
        if self.delivery.send is None:
            raise LookupError("There is no mail.")
        return self.delivery.send

    @property
    def mail_from(self) -> str:
        return self._tools.envelope_sender(self.send)

    @property
    def rcpt_to(self) -> str:
        return compose.address_of(self.send)

    @property
    def dot(self) -> Dot:
        """Its dot, to be authorised once the mail is composed."""
        return Dot(send=self.send, digest=self.digest, version=self.delivery.version)

    @property
    def is_cancellable(self) -> bool:
        """True while it has no mark, and none is being made."""
        return not (self.has_ended or self.is_marking or self._marked)

    def prepare(self) -> bool:
        """Compose the mail; returns False if there is nothing to send, and the delivery has ended."""
        if self.digest:
            return True
        try:
            return self._prepare()
        except Exception as error:
            self._crash(error)
            return False

    def cancel(self) -> None:
        """Give the claim back untried."""
        self._drop()
        self._end(Ending(claim=self.claim, outcome=DeliveryOutcome.UNCLAIMED))

    def hold(self, *, until: float) -> None:
        """The row that was read ahead is claimed and its dot authorised, to be sent at that time (monotonic)."""
        self.is_claimed = self._marked = True
        self.began = until
        try:
            self._tools.failpoint("held", self.send.message_id)
        except Exception as error:
            self._crash(error)

    def send_dot(self) -> None:
        """Send the dot, as it is authorised and that is committed, unless the local fence forbids it."""
        session = self.session
        if self.has_ended or session is None:
            return
        self._marked = True
        try:
            self._tools.failpoint("marked", self.send.message_id)
            if self._tools.lease_is_safe(self.claim):
                left = self.began + self._tools.config.deadline - time.monotonic()
                session.send_dot(deadline=max(MIN_DOT_SECONDS, left), following=self._tools.pool.following(session))
                return
        except Exception as error:
            self._crash(error)
            return
        self.deny(may_be_marked=True)

    def deny(self, *, may_be_marked: bool) -> None:
        """Send no dot: there is no mark, or it must not be used.

        The claim was lost or the send changed; the next claim of the row finds out which.
        """
        if self.has_ended:
            return
        self._drop()
        outcome = DeliveryOutcome.LOST if may_be_marked else DeliveryOutcome.UNCLAIMED
        refusal = self._no_dot() if may_be_marked else None
        self._end(Ending(claim=self.claim, outcome=outcome, refusal=refusal))

    def refuse(self, row: RefusedRow) -> None:
        """Send no dot, because the ledger cannot take the row."""
        if not self.has_ended:
            self._drop()
            self._error = labels.LEDGER_REFUSED
            self._release(row.error, attempts_used=row.attempts_used, permanent=row.permanent)

    def postpone(self, error: ServerUnavailable | CircuitOpen) -> None:
        """Give the claim back because no connection could be opened: no attempt is spent."""
        if isinstance(error, CircuitOpen):
            self.cancel()
        else:
            self._error = labels.error_class(error)
            self._release(str(error), attempts_used=0, outcome=DeliveryOutcome.DEFERRED)

    def finish(self, outcome: DeliveryOutcome) -> None:
        """Called when the ending was settled."""
        try:
            if outcome is DeliveryOutcome.SENT:
                for step in ("recorded", "finalized"):
                    self._tools.failpoint(step, self.claim.message_id)
        except Exception:
            log.exception("a failpoint raised")
        telemetry.end_delivery(
            self._span,
            outcome,
            error=self._error,
            seconds=time.monotonic() - self.began,
            claim=self.claim,
            accepted=self._accepted_at - self.began,
        )

    def on_begin(self, session: SmtpSession) -> None:
        self.session = session

    def on_body(self, session: SmtpSession) -> None:
        try:
            self._tools.failpoint("body", self.send.message_id)
        except Exception as error:
            self._crash(error)
        else:
            self._on_body_sent(self)

    def on_dot(self) -> None:
        self._dotted = True
        try:
            self._tools.failpoint("dot", self.send.message_id)
        except Exception as error:
            self._crash(error)

    def on_accepted(self, session: SmtpSession, reply: Reply) -> None:
        self._accepted_at = time.monotonic()
        self._tools.pool.limits.record_success()
        if self.has_ended:
            return
        try:
            self._tools.failpoint("replied", self.send.message_id)
        except Exception as error:
            self._crash(error)
            return
        self._end(Ending(claim=self.claim, outcome=DeliveryOutcome.SENT, fact=_fact(self.send, reply)))

    def on_failed(self, session: SmtpSession, error: Exception) -> None:
        if self.has_ended:
            return
        pool, self._error = self._tools.pool, labels.error_class(error)
        if isinstance(error, NoReplyAfterData):
            pool.limits.record_failure(str(error))
            self._hold(str(error))
        elif isinstance(error, Rejected):
            pool.rejected(error, recipient=self.rcpt_to)
            self._reject(error)
        elif not isinstance(error, ServerUnavailable):
            self._crash(error)
        elif self._marked:
            pool.limits.record_failure(str(error))
            # A session that ended while it was held proves nothing about the server.
            delay = None if self.delivery.version is None else timedelta(0)
            self._release(
                str(error), attempts_used=0, delay=delay, outcome=DeliveryOutcome.DEFERRED, refusal=self._no_dot()
            )
        elif pool.may_retry(session, error):
            self.session = None
            self._error = None
            self._on_retry(self)
        else:
            self.postpone(error)

    def _prepare(self) -> bool:
        if self.delivery.send is None:
            self._error = labels.COPY_IN_FLIGHT
            self._end(Ending(claim=self.claim, outcome=None))
        else:
            try:
                self.message = self._tools.compose(self.send)
            except ValueError as broken:
                self._error = labels.UNWRITABLE
                self._release(f"The reminder cannot be written. {broken}", attempts_used=1, permanent=True)
                return False
            self.digest = hashlib.sha256(self.message).hexdigest()
            if self.send.bytes_sha256 in (None, self.digest):
                return True
            self._error = labels.BYTES_DIFFER
            self._release(BYTES_DIFFER, attempts_used=0, permanent=True)
        return False

    def _drop(self) -> None:
        if self.session is not None:
            self._tools.pool.discard(self.session)

    def _crash(self, error: Exception) -> None:
        """Handle an error in our own code: an attempt is spent; if the dot was sent, the mail may have been sent."""
        # Omit the error's text: a database error contains the values of a row.
        where, kind = "".join(traceback.format_tb(error.__traceback__)), type(error).__name__
        self._error = kind
        with use_span(self._span):
            log.error("delivery of snooze %d broke down (%s)\n%s", self.claim.id, kind, where)
        sentence = f"The delivery broke down ({kind})"
        if self._dotted:
            self._hold(sentence)
        else:
            self._drop()
            self._release(sentence, attempts_used=1, refusal=self._no_dot() if self._marked else None)

    def _reject(self, rejected: Rejected) -> None:
        """Handle a refusal by the server: an attempt is spent, unless the reply is about the server itself, or about
        this recipient for now; a permanent refusal makes a case."""
        reply = rejected.reply
        refusal = Refusal(
            send=self.send,
            reply=reply.text,
            smtp_code=reply.code,
            enhanced_code=reply.enhanced_code,
            of_recipient=rejected.is_for_now,
        )
        if rejected.is_server_wide:
            self._release(str(rejected), attempts_used=0, outcome=DeliveryOutcome.DEFERRED, refusal=refusal)
        elif rejected.is_for_now:
            self._refuse_for_now(str(rejected), refusal)
        else:
            self._release(str(rejected), attempts_used=1, permanent=rejected.permanent, refusal=refusal)

    def _refuse_for_now(self, error: str, refusal: Refusal) -> None:
        """Try again like a mail server does, with growing waits; a promise that is old by now still gets a few
        tries."""
        refusals, config = self.send.refusals + 1, self._tools.config
        delay = backoff.delay(refusals, first=config.first_delay, rng=self._tools.rng)
        retry_for = self._tools.refused_for if refusals >= MIN_REFUSALS else None
        self._release(error, attempts_used=0, delay=delay, retry_for=retry_for, refusal=refusal)

    def _hold(self, reason: str) -> None:
        """Hold a mail without a reply after the dot, which may have been sent, before it is sent again."""
        policy, resends = self._tools.config.uncertainty, self.send.resends
        self._release(
            f"{uncertain_error(resends)}: {reason}",
            attempts_used=0,
            outcome=DeliveryOutcome.UNCERTAIN,
            delay=policy.hold,
            permanent=resends >= MAX_RESENDS or policy.for_operator,
            silence=(self.send, reason),
        )

    def _release(
        self,
        error: str,
        *,
        attempts_used: int,
        permanent: bool = False,
        delay: timedelta | None = None,
        retry_for: timedelta | None = None,
        outcome: DeliveryOutcome = DeliveryOutcome.RELEASED,
        refusal: Refusal | None = None,
        silence: tuple[Send, str] | None = None,
    ) -> None:
        """Make the snooze due again after `delay` (by default an exponential backoff), or make it a case."""
        if delay is None:
            delay = backoff.delay(self.claim.attempts + 1, first=self._tools.config.first_delay, rng=self._tools.rng)
        failure = Failure(
            id=self.claim.id,
            claim_token=self.claim.claim_token,
            error=error,
            attempts_used=attempts_used,
            delay=delay,
            permanent=permanent,
            retry_for=retry_for,
        )
        self._end(Ending(claim=self.claim, outcome=outcome, failure=failure, refusal=refusal, silence=silence))

    def _no_dot(self) -> Refusal:
        return Refusal(send=self.send, reply=DOT_NOT_SENT)

    def _end(self, ending: Ending) -> None:
        if not self.has_ended:
            self.has_ended = True
            self.message = b""
            self._on_end(self, ending)


def _fact(send: Send, reply: Reply) -> Fact:
    return Fact(
        reminder_message_id=send.reminder_message_id,
        snooze_id=send.snooze_id,
        claim_token=send.claim_token,
        smtp_code=reply.code,
        enhanced_code=reply.enhanced_code,
        reply=reply.text,
        queue_id=reply.queue_id,
    )
