"""One delivery as its worker attends to it: in a span, counted, and settled also when our own code breaks down."""

import logging
import time
import traceback
from collections.abc import Awaitable, Callable

from opentelemetry import trace
from sqlalchemy.exc import SQLAlchemyError

from snoozer import telemetry
from snoozer.domain.reminder import Verdict
from snoozer.reminding import Courier, Delivery

log = logging.getLogger(__name__)


def attended(courier: Courier) -> Callable[[Delivery, Callable[[], None]], Awaitable[Verdict]]:
    """What delivers by this courier and never raises: one bad reminder must not take the worker with it."""

    async def deliver(delivery: Delivery, answered: Callable[[], None]) -> Verdict:
        began = time.monotonic()
        with telemetry.delivery(traceparent=delivery.claim.traceparent, snooze_id=delivery.claim.id):
            try:
                verdict = await courier.deliver(delivery, answered=answered)
            except Exception as broken:
                # Without the error's words: those of a database hold the values of a row.
                where = "".join(traceback.format_tb(broken.__traceback__))
                log.error("delivery of snooze %d broke down (%s)\n%s", delivery.claim.id, type(broken).__name__, where)
                trace.get_current_span().record_exception(broken)
                verdict = await _after_breakdown(courier, delivery, broken)
        telemetry.delivered(verdict, milliseconds=(time.monotonic() - began) * 1000)
        return verdict

    return deliver


async def _after_breakdown(courier: Courier, delivery: Delivery, broken: Exception) -> Verdict:
    error = f"The delivery broke down ({type(broken).__name__})"
    try:
        if delivery.send is None:
            return await courier.settlement.release(delivery.claim, error=error, spent=1)
        return await courier.settlement.break_down(delivery.claim, delivery.send, error=error)
    except SQLAlchemyError:
        return Verdict.LOST
