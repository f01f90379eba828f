"""One delivery, step by step in the order of the protocol: body, mark, local fence, dot, reply, fact, finalize.

No transaction is open while the mail server thinks.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.domain.reminder import Claim, Send, Verdict
from snoozer.mail.gate import Shut
from snoozer.mail.outbox import Outbox
from snoozer.mail.smtp import NoReply, Refused, RelayDown, Session
from snoozer.postgres import ledger
from snoozer.postgres.engine import at_once, may_pass
from snoozer.postgres.ledger import MOST_RESENDS
from snoozer.reminding.recall import CalledBack, Recall
from snoozer.reminding.settling import Settlement, may_have_been_sent
from snoozer.reminding.taking import Delivery, Flaw, Passage, Terms
from snoozer.reminding.together import Together

OTHER_BYTES = (
    "A first copy may have been sent, and templates, keys or settings have changed since, so a second copy would "
    "differ from it. Reactivate to send it all the same"
)
ON_ITS_WAY = "An earlier copy may be on its way; the snooze is looked at again after the hold"


class Unfit(Exception):
    """The reminder cannot go out as it is; so many attempts are spent on that."""

    def __init__(self, why: str, *, spent: int) -> None:
        super().__init__(why)
        self.spent = spent


@dataclass(frozen=True, kw_only=True)
class Courier:
    """Delivers reminders, one call each, as many at once as one likes, on one event loop.

    `compose` makes the bytes of a send. `passage` hears each step. `still_ours` is the local fence: by the boot-time
    clock, neither the lease of this snooze nor the last heartbeat is too old.
    """

    engine: Engine
    outbox: Outbox
    settlement: Settlement
    terms: Terms
    compose: Callable[[Send], bytes]
    passage: Passage
    still_ours: Callable[[int], bool]

    @cached_property
    def recall(self) -> Recall:
        """Calls back what has no mark yet."""
        return Recall()

    @cached_property
    def _marks(self) -> Together[tuple[Send, str], bool]:
        return Together(self._mark, name="marks")

    def _mark(self, dots: Sequence[tuple[Send, str]]) -> list[bool]:
        with at_once(self.engine) as connection:
            authorised = ledger.mark(connection, dots=dots)
        return [send.id in authorised for send, _ in dots]

    async def deliver(self, delivery: Delivery, *, answered: Callable[[], None]) -> Verdict:
        """Take one reminder to its verdict. A database that goes away at a bad moment leaves it to recovery (LOST).

        `answered` hears that the server has taken the mail, so that all that is left is to write it down.
        """
        try:
            if delivery.flaw is not None:
                return await self._set_aside(delivery.claim, delivery.flaw)
            if delivery.send is None:
                return await self._already_known(delivery.claim)
            return await self._send(delivery.claim, delivery.send, answered=answered)
        except SQLAlchemyError as error:
            if not may_pass(error):
                raise
            return Verdict.LOST

    async def _send(self, claim: Claim, send: Send, *, answered: Callable[[], None]) -> Verdict:
        ends = time.monotonic() + self.terms.deadline
        try:
            with self._marks.coming():
                session, digest = await self._hand_over(send)
        except Unfit as unfit:
            return await self.settlement.release(claim, error=str(unfit), spent=unfit.spent, permanent=True)
        except (Shut, CalledBack):
            return await self.settlement.hand_back(claim)
        except RelayDown as down:
            return await self.settlement.postpone(claim, error=str(down))
        except Refused as refused:
            return await self.settlement.refuse(claim, send, refused)
        denied = await self._authorise(claim, session, send, digest=digest)
        if denied is not None:
            return denied
        left = max(1.0, ends - time.monotonic())
        return await self._finish(claim, send, session, deadline=left, answered=answered)

    async def _hand_over(self, send: Send) -> tuple[Session, str]:
        """The whole mail but its final dot; answers where it stands and the sha256 of its bytes."""
        try:
            message = self.compose(send)
        except ValueError as unfit:
            raise Unfit(f"The reminder cannot be written. {unfit}", spent=1) from unfit
        digest = hashlib.sha256(message).hexdigest()
        if send.bytes_sha256 not in (None, digest):
            raise Unfit(OTHER_BYTES, spent=0)
        half = self.terms.deadline / 2
        with self.recall.until_the_mark():
            return await self.outbox.hand_over_body(rcpt_to=send.user_email, message=message, deadline=half), digest

    async def _authorise(self, claim: Claim, session: Session, send: Send, *, digest: str) -> Verdict | None:
        """The mark, then the local fence; None when the dot may leave. On any doubt the connection is dropped."""
        marked = fenced = False
        try:
            self.passage("body", send.message_id)
            marked = await self._marks((send, digest))
            if marked:
                self.passage("marked", send.message_id)
                fenced = self.still_ours(send.snooze_id)
        except SQLAlchemyError as error:
            # The commit may have been lost on its way back, but no dot left.
            if not may_pass(error):
                raise
            marked = True
        finally:
            if not fenced:
                self.outbox.drop(session)
        if not marked:
            # The claim is not ours any more, or the entry changed, and who claims the row anew finds out.
            return await self.settlement.hand_back(claim)
        if not fenced:
            await self.settlement.withdraw(send)
            return Verdict.LOST
        return None

    async def _finish(
        self, claim: Claim, send: Send, session: Session, *, deadline: float, answered: Callable[[], None]
    ) -> Verdict:
        try:
            with self.settlement.coming():
                reply = await session.finish(deadline=deadline, on_dot=lambda: self.passage("dot", send.message_id))
        except RelayDown as down:
            self.outbox.lost(session, reason=str(down))
            verdict = await self.settlement.postpone(claim, error=str(down))
            await self.settlement.withdraw(send)
            return verdict
        except Refused as refused:
            self.outbox.refused(session, refused)
            return await self.settlement.refuse(claim, send, refused)
        except NoReply as silence:
            self.outbox.lost(session, reason=str(silence))
            return await self.settlement.doubt(claim, send, reason=str(silence))
        except BaseException:
            self.outbox.drop(session)
            raise
        self.passage("replied", send.message_id)
        self.outbox.keep(session)
        answered()
        verdict = await self.settlement.conclude(
            claim, send, reply, recorded=lambda: self.passage("recorded", send.message_id)
        )
        self.passage("finalized", send.message_id)
        return verdict

    async def _set_aside(self, claim: Claim, flaw: Flaw) -> Verdict:
        """The ledger cannot take the row: a case, or a failure like another."""
        return await self.settlement.release(claim, error=flaw.error, spent=flaw.spent, permanent=flaw.surely)

    async def _already_known(self, claim: Claim) -> Verdict:
        """The ledger would not reserve it: it was sent, or may have been and is on hold."""
        known = await self.settlement.patience.apart(self._look, claim)
        if known is not None and known.state == "sent":
            return await self.settlement.finalize(claim, verdict=Verdict.ALREADY_SENT)
        exhausted = known is not None and known.resends >= MOST_RESENDS
        if known is not None and known.state == "uncertain" and (exhausted or self.terms.uncertainty.for_operator):
            return await self.settlement.release(claim, error=may_have_been_sent(exhausted), spent=0, permanent=True)
        pause = known.hold_left if known is not None and known.hold_left is not None else self.terms.first_delay
        return await self.settlement.wait(claim, reason=ON_ITS_WAY, delay=pause)

    def _look(self, claim: Claim) -> ledger.Known | None:
        with self.engine.begin() as connection:
            return ledger.look(connection, snooze_id=claim.id, uncertainty=self.terms.uncertainty)
