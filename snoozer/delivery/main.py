"""`snoozer worker`: one incarnation of a worker, from its settings to its last word."""

import gc
import logging
import os
import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import timedelta
from functools import partial
from random import Random
from threading import Event

import click
from sqlalchemy import Engine

from snoozer import settings, telemetry
from snoozer.db.engine import make_engine, read_timeout_until
from snoozer.db.fact_journal import FactJournal
from snoozer.delivery.breaker_client import BreakerClient
from snoozer.delivery.claiming import DeliveryConfig, FailpointHook
from snoozer.delivery.db_retry import THREADS
from snoozer.delivery.deliver import Deliverer
from snoozer.delivery.heartbeat import Heartbeat
from snoozer.delivery.notify_listener import NotifyListener
from snoozer.delivery.outcome import OutcomeRecorder, record_inherited_facts
from snoozer.delivery.processes import run as side_by_side
from snoozer.delivery.worker import ShutdownRequested, Worker
from snoozer.domain.reminder import Send
from snoozer.housekeeping import chores
from snoozer.housekeeping.chores import SweepConfig
from snoozer.mime import headers
from snoozer.mime.compose import compose_reminder
from snoozer.runtime import failpoint
from snoozer.runtime.signals import on_parent_exit, on_stop_signal
from snoozer.settings import Settings, SettingsError
from snoozer.smtp.connection_pool import ConnectionPool
from snoozer.smtp.limits import ServerLimits
from snoozer.smtp.url import SmtpServer

log = logging.getLogger(__name__)

MAX_CONNECT_SECONDS = 60.0
# Where a machine is shared, a herd of reminders steps back behind the pages that people look at.
NICENESS = 7
# Longer than a poll: whatever a worker asks, it asks again when the session turns out to be dead.
PING_AFTER = 2.0
# A delivery leaves no cycles behind, and looking for them took a fifteenth of a worker's CPU.
GC_THRESHOLD = 50_000
# Claims, heartbeat, bell, gauges; marks, conclusions, facts; and the threads that settle what is left.
CONNECTIONS = 4 + 3 + THREADS


@click.command("worker", help="Deliver what is due until told to stop.")
@click.option("--drain", is_flag=True, help="Stop when nothing is due or claimed.")
@click.option("--batch", type=click.IntRange(1, 1000), default=50, show_default=True, help="Rows claimed at once.")
@click.option("--concurrency", type=click.IntRange(1, 100), default=8, show_default=True, help="Deliveries at once.")
@click.option("--processes", type=click.IntRange(1, 64), default=1, show_default=True, help="Workers side by side.")
@click.option("--parent", type=int, hidden=True, help="Stop when this process, which started this one, is gone.")
def command(drain: bool, batch: int, concurrency: int, processes: int, parent: int | None) -> None:
    given = settings.load().require("database_url", "secret_key", "smtp_url", "mail_from", "base_url")
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    if processes > 1:
        arguments = [f"--batch={batch}", f"--concurrency={concurrency}", *(["--drain"] if drain else [])]
        sys.exit(side_by_side(arguments, count=processes, lasting=not drain))
    sys.exit(run_worker(given, drain=drain, batch_size=batch, concurrency=concurrency, parent=parent))


def run_worker(settings: Settings, *, drain: bool, batch_size: int, concurrency: int, parent: int | None) -> int:
    """Run one worker; answers the exit code. 1 means it was declared dead, and another incarnation must take over."""
    terms, passage, stopping = _config(settings), _failpoint(settings), Event()
    os.nice(NICENESS)
    outbox = _connection_pool(settings, domain=terms.domain)
    rouse: list[Callable[[], None]] = []

    def stop() -> None:
        stopping.set()
        for wake in rouse:
            wake()

    on_stop_signal(stop)
    if parent is not None:
        on_parent_exit(stop, parent=parent)
    rng = Random()  # noqa: S311 - scatters waiting times, guards nothing
    with ExitStack() as closing:
        engine = make_engine(
            settings.database_url.get_secret_value(),
            name="worker",
            pool_size=CONNECTIONS,
            pgbouncer=settings.pgbouncer,
            ping_after=PING_AFTER,
            idle=settings.worker_dead,
            read_timeout=read_timeout_until(stopping),
        )
        closing.callback(engine.dispose)
        closing.callback(telemetry.start(service="snoozer-worker", engine=engine, **settings.telemetry))
        journal = _journal(settings, worker=terms.worker)
        closing.callback(journal.close)
        record_inherited_facts(engine, journal=journal, actor=terms.actor)
        pulse = _heartbeat(settings, engine, worker=terms.worker)
        pulse.start()
        closing.callback(pulse.stop)
        if settings.local_links_warning:
            log.warning("%s", settings.local_links_warning)
        settlement = OutcomeRecorder(
            engine=engine, journal=journal, config=terms, shutting_down=stopping.is_set, rng=rng
        )
        courier = Deliverer(
            engine=engine,
            pool=outbox,
            outcomes=settlement,
            config=terms,
            compose=_compose(settings, domain=terms.domain),
            failpoint=passage,
            lease_is_safe=pulse.lease_is_safe,
        )
        worker = Worker(
            engine,
            deliverer=courier,
            heartbeat=pulse,
            breaker=_breaker_client(settings, engine, outbox=outbox),
            stopping=stopping,
            batch_size=batch_size,
            concurrency=concurrency,
            poll=settings.poll,
            rng=rng,
        )
        closing.callback(worker.close)
        rouse.append(worker.wake)
        _tune_garbage_collection()
        if not settings.pgbouncer and not drain:
            bell = NotifyListener(engine, on_notify=worker.wake)
            bell.start()
            closing.callback(bell.stop)
        with suppress(ShutdownRequested):
            if drain:
                worker.drain(
                    sweep=lambda: chores.sweep(engine, terms=SweepConfig.from_settings(settings)), every=settings.sweep
                )
            else:
                worker.run()
        return 1 if pulse.declared_dead.is_set() else 0


def _tune_garbage_collection() -> None:
    """What stands by now is never garbage, and little of what comes is."""
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)


def _config(settings: Settings) -> DeliveryConfig:
    return DeliveryConfig(
        worker=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
        domain=headers.mail_from_domain(settings.mail_from),
        lease=timedelta(seconds=settings.lease),
        uncertainty=settings.uncertainty,
        first_delay=timedelta(seconds=settings.backoff),
        deadline=settings.deadline,
    )


def _failpoint(settings: Settings) -> FailpointHook:
    if not settings.failpoints or not settings.failpoint:
        return failpoint.disabled
    try:
        return failpoint.parse(settings.failpoint)
    except failpoint.InvalidFailpoint as bad:
        raise SettingsError(str(bad)) from None


def _journal(settings: Settings, *, worker: str) -> FactJournal:
    folder = settings.home / "journal"
    try:
        return FactJournal(folder, worker=worker)
    except OSError as error:
        raise SettingsError(
            f"The worker keeps what the mail server said in {folder} while the database is away, and cannot write "
            f"there ({error.strerror}); set SNOOZER_HOME to a folder it may write to"
        ) from None


def _heartbeat(settings: Settings, engine: Engine, *, worker: str) -> Heartbeat:
    return Heartbeat(
        engine,
        worker=worker,
        interval=settings.heartbeat,
        dead_after=settings.worker_dead,
        lease=settings.lease,
        deadline=settings.deadline,
    )


def _connection_pool(settings: Settings, *, domain: str) -> ConnectionPool:
    try:
        relay = SmtpServer.from_url(settings.smtp_url.get_secret_value())
    except ValueError as refused:
        raise SettingsError(str(refused)) from None
    return ConnectionPool(
        relay,
        helo=domain,
        mail_from=headers.mail_from_address(settings.mail_from),
        connect_deadline=min(MAX_CONNECT_SECONDS, settings.deadline / 4),
        limits=ServerLimits(threshold=settings.breaker_threshold),
    )


def _breaker_client(settings: Settings, engine: Engine, *, outbox: ConnectionPool) -> BreakerClient:
    return BreakerClient(
        engine=engine,
        limits=outbox.limits,
        server=f"{outbox.server.host}:{outbox.server.port}",
        threshold=settings.breaker_threshold,
        cooldown=timedelta(seconds=settings.breaker_cooldown),
    )


def _compose(settings: Settings, *, domain: str) -> Callable[[Send], bytes]:
    return partial(
        compose_reminder,
        mail_from=settings.mail_from,
        base_url=settings.base_url,
        keys=settings.keys,
        instance=domain,
    )
