"""A pipeline of deliveries to a mail server that misbehaves on request, and claims without one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random

from sqlalchemy import Engine

from snoozer.delivery import settling
from snoozer.delivery.claiming import DeliveryConfig, no_failpoint
from snoozer.delivery.deliver import Tools
from snoozer.delivery.pipeline import DeliveryPipeline
from snoozer.delivery.settling import Ending, Settler
from snoozer.mail.smtp.connection_pool import ConnectionPool
from snoozer.mail.smtp.server_limits import ServerLimits
from snoozer.queue.fact_journal import FactJournal
from snoozer.queue.reminder import Claim, DeliveryOutcome, Send, UncertainPolicy
from tests.db.transitions import claim, sendable
from tests.mail.scripted_server import ScriptedServer

TIMEOUT = 60
HOUR = timedelta(hours=1)
CONFIG = DeliveryConfig(
    worker="w", domain="x.example", lease=HOUR, uncertainty=UncertainPolicy(hold=HOUR), first_delay=HOUR, deadline=60
)
MESSAGE = b"From: a@snoozer.example\r\n\r\nhello\r\n"


@contextmanager
def a_pipeline(
    engine: Engine,
    server: ScriptedServer,
    home: Path,
    *,
    concurrency: int = 8,
    low_watermark: int = 0,
    compose: Callable[[Send], bytes] = lambda send: MESSAGE,
    clock: Callable[[], float] | None = None,
) -> Iterator[tuple[DeliveryPipeline, list[int]]]:
    """A pipeline, closed in the end, and the ids of the snoozes that are done."""
    done: list[int] = []
    journal = FactJournal(home, worker="w")
    pool = ConnectionPool(
        server.smtp_server(), helo="x", connect_deadline=5, limits=ServerLimits(threshold=5), concurrency=concurrency
    )
    tools = Tools(
        pool=pool,
        config=CONFIG,
        compose=compose,
        failpoint=no_failpoint,
        lease_is_safe=lambda claim: True,
        envelope_sender=lambda send: "s@s.example",
        rng=Random(1),
    )
    pipeline = DeliveryPipeline(
        engine,
        tools=tools,
        settler=Settler(engine, journal=journal, config=CONFIG, shutting_down=lambda: False, rng=Random(1)),
        low_watermark=low_watermark,
        on_done=lambda held: done.append(held.id),
        on_claim=lambda claim, since: None,
        on_drop=lambda: None,
        **({} if clock is None else {"clock": clock}),
    )
    try:
        yield pipeline, done
    finally:
        pipeline.close()
        journal.close()


def reap_all(pipeline: DeliveryPipeline) -> None:
    while pipeline:
        pipeline.reap(timeout=TIMEOUT)


def deliver(engine: Engine) -> list[Claim]:
    """Claims what is due as a worker does, settles what was not reserved; returns what may be sent."""
    claims = claim(engine)
    free = [held for held in claims if sendable(engine, held)]
    left = [Ending(claim=held, outcome=None) for held in claims if held not in free]
    if left:
        with engine.begin() as connection:
            outcomes = settling.settle(connection, left, config=CONFIG)
        assert set(outcomes) == {DeliveryOutcome.UNCLAIMED}
    return free
