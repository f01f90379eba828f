"""`snoozer worker`: one worker, built from its settings and run to its exit code.

On the machine it has niceness 7: on a shared host, a herd of reminders yields the CPU to the pages. Garbage collection
is tuned: objects that exist when the loop starts are frozen (`gc.freeze()`), and collections are rare, because a
delivery leaves no cycles; they used a fifteenth of a worker's CPU.
"""

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
from typing import Any

import click
from sqlalchemy import Engine

from snoozer import __version__, settings, telemetry
from snoozer.db import schema
from snoozer.db.engine import MIN_IDLE_TIMEOUT, make_engine, read_timeout_until
from snoozer.delivery.breaker_client import BreakerClient
from snoozer.delivery.chores import recovery
from snoozer.delivery.chores.recovery import SweepConfig
from snoozer.delivery.chores.returns import return_due, return_loop
from snoozer.delivery.claiming import DeliveryConfig, no_failpoint
from snoozer.delivery.deliver import Tools
from snoozer.delivery.heartbeat import Heartbeat
from snoozer.delivery.settling import Settler
from snoozer.delivery.worker import ShutdownRequested, Worker
from snoozer.mail import headers
from snoozer.mail.compose import ReminderWriter
from snoozer.mail.smtp.connection_pool import ConnectionPool
from snoozer.mail.smtp.server_limits import ServerLimits
from snoozer.mail.smtp.url import SmtpServer
from snoozer.notify.answer_notice import AnswerSender
from snoozer.notify.push_channel import PushChannel, PushSender
from snoozer.notify.send_loop import CONNECTIONS as SENDING_CONNECTIONS
from snoozer.notify.send_loop import Sender, SendLoop
from snoozer.notify.send_loop import drain as drain_sender
from snoozer.notify.webhook_channel import WebhookChannel, WebhookSender
from snoozer.notify.webhook_notice import NoticeSender
from snoozer.queue.fact_journal import FactJournal
from snoozer.queue.listen_notify import notify_listener
from snoozer.queue.workers import UNKNOWN, Description
from snoozer.runtime import supervisor
from snoozer.runtime.failpoint import FailpointHook
from snoozer.runtime.loop import Loop
from snoozer.runtime.signals import on_parent_exit, on_stop_signal
from snoozer.settings import Settings, SettingsError
from snoozer.telemetry import log_format

log = logging.getLogger(__name__)

MAX_CONNECT_SECONDS = 60.0
NICENESS = 7
# Longer than the polls and the heartbeat's interval; a worker repeats a query whose connection turns out to be dead.
PING_AFTER = 5.0
GC_THRESHOLD = 50_000
# The event loop, which sends dots in time, gets the interpreter back from another thread within this time.
SWITCH_SECONDS = 0.0005
# Claims, heartbeat, listener, gauges, marks, endings, returns.
CONNECTIONS = 7


@click.command("worker")
@click.option("--drain", is_flag=True, help="Stop when nothing is due or claimed.")
@click.option("--batch", type=click.IntRange(1, 1000), default=50, show_default=True, help="Rows claimed at once.")
@click.option("--concurrency", type=click.IntRange(1, 100), default=8, show_default=True, help="Deliveries at once.")
@click.option("--processes", type=click.IntRange(1, 64), default=1, show_default=True, help="Workers side by side.")
@click.option("--parent", type=int, hidden=True, help="Stop when this process, which started this one, is gone.")
def command(drain: bool, batch: int, concurrency: int, processes: int, parent: int | None) -> None:
    given = settings.load().require("database_url", "secret_key", "smtp_url", "mail_from", "base_url")
    log_format.configure(given.log_format, process="worker")
    if drain and given.cutover == "shadow":
        raise SettingsError("SNOOZER_CUTOVER is shadow, so a worker sends nothing and nothing can be drained")
    if processes > 1:
        arguments = [f"--batch={batch}", f"--concurrency={concurrency}", *(["--drain"] if drain else [])]
        sys.exit(supervisor.run(arguments, count=processes, restart=not drain))
    sys.exit(run_worker(given, drain=drain, batch_size=batch, concurrency=concurrency, parent=parent))


def run_worker(
    settings: Settings,
    *,
    drain: bool,
    batch_size: int,
    concurrency: int,
    parent: int | None,
    failpoint: FailpointHook | None = None,
) -> int:
    """Run one worker; returns the exit code. 1 means it was declared dead, and another worker must take its place.

    `failpoint` is called instead of the hook in the settings."""
    config, stopping = delivery_config(settings), Event()
    hook = failpoint or settings.failpoint_hook or no_failpoint
    log_format.configure(settings.log_format, process="worker", worker=config.worker)
    os.nice(NICENESS)
    pool = connection_pool(settings, helo=config.domain, concurrency=concurrency)
    wakeups: list[Callable[[], None]] = []

    def stop() -> None:
        stopping.set()
        for wake in wakeups:
            wake()

    on_stop_signal(stop)
    if parent is not None:
        on_parent_exit(stop, parent=parent)
    with ExitStack() as closing:
        engine = _engine(settings, stopping=stopping)
        closing.callback(engine.dispose)
        if not drain and not schema.wait_until_migrated(engine, stopping=stopping):
            return 0
        flush = telemetry.start(service="snoozer-worker", engine=engine, worker=config.worker, **settings.telemetry)
        closing.callback(flush)
        journal = _journal(settings, worker=config.worker)
        closing.callback(journal.close)
        recovery.record_inherited_facts(engine, journal=journal, actor=config.actor)
        description = Description(
            version=__version__, host=socket.gethostname(), batch_size=batch_size, concurrency=concurrency
        )
        heartbeat = start_heartbeat(settings, engine, worker=config.worker, description=description)
        closing.callback(heartbeat.stop)
        if settings.local_links_warning:
            log.warning("%s", settings.local_links_warning)
        if config.claims_nothing:
            log.warning("SNOOZER_CUTOVER is shadow: another scheduler sends, and this worker claims nothing")
        worker = build_worker(
            settings,
            engine,
            config=config,
            pool=pool,
            journal=journal,
            heartbeat=heartbeat,
            failpoint=hook,
            stopping=stopping,
            batch_size=batch_size,
        )
        wakeups.append(worker.wake)
        gc.freeze()
        gc.set_threshold(GC_THRESHOLD)
        sys.setswitchinterval(SWITCH_SECONDS)
        if not settings.pgbouncer and not drain:
            _run_until_closed(notify_listener(engine, on_notify=worker.wake), closing)
        engine_of_pushes = _sending_engine(settings, name="push", stopping=stopping)
        pushes = push_sender(settings, engine=engine_of_pushes, failpoint=hook, stopping=stopping)
        closing.callback(pushes.engine.dispose)
        webhooks = _webhook_sender(settings, failpoint=hook, stopping=stopping)
        closing.callback(webhooks.engine.dispose)
        mails: dict[str, Any] = {
            "engine": webhooks.engine,
            "server": pool.server,
            "mail_from": settings.mail_from,
            "base_url": settings.base_url,
            "sign": settings.sign,
            "stopping": stopping,
        }
        notices = NoticeSender(**mails)
        answers = AnswerSender(inbound_domain=settings.inbound_domain, keys=settings.keys, **mails)
        senders: tuple[Sender[Any], ...] = (pushes, webhooks, notices, answers)
        if not drain:
            loops = {sender.word: SendLoop(sender) for sender in senders}
            for loop in loops.values():
                _run_until_closed(loop, closing)
            wakes = {word: loop.wake for word, loop in loops.items()}
            _run_until_closed(return_loop(engine, wakes=wakes, poll=settings.poll), closing)
        # Called first, so that pending claims are given back at once.
        closing.callback(worker.close)
        with suppress(ShutdownRequested):
            if drain:
                sweep = partial(recovery.sweep, engine, config=SweepConfig.from_settings(settings))
                return_due(engine)
                worker.drain(sweep=sweep, every=settings.sweep)
                return_due(engine)
                for sender in senders:
                    drain_sender(sender)
            else:
                worker.run()
        return 1 if heartbeat.declared_dead.is_set() else 0


def _run_until_closed(loop: Loop | SendLoop[Any], closing: ExitStack) -> None:
    loop.start()
    closing.callback(loop.stop)


def build_worker(
    settings: Settings,
    engine: Engine,
    *,
    config: DeliveryConfig,
    pool: ConnectionPool,
    journal: FactJournal,
    heartbeat: Heartbeat,
    failpoint: FailpointHook,
    stopping: Event,
    batch_size: int,
) -> Worker:
    """A worker with all its parts."""
    rng = Random()  # noqa: S311 - jitter of waits, guards nothing
    writer = ReminderWriter(
        mail_from=settings.mail_from,
        base_url=settings.base_url,
        keys=settings.keys,
        instance=config.domain,
        inbound_domain=settings.inbound_domain,
        sign=settings.sign,
    )
    tools = Tools(
        pool=pool,
        config=config,
        compose=writer.write,
        failpoint=failpoint,
        lease_is_safe=heartbeat.lease_is_safe,
        envelope_sender=writer.envelope_sender,
        rng=rng,
        refused_for=timedelta(seconds=settings.refused_for),
    )
    settler = Settler(engine, journal=journal, config=config, shutting_down=stopping.is_set, rng=rng)
    breaker = BreakerClient(
        engine=engine,
        limits=pool.limits,
        server=f"{pool.server.host}:{pool.server.port}",
        threshold=settings.breaker_threshold,
        cooldown=timedelta(seconds=settings.breaker_cooldown),
    )
    return Worker(
        engine,
        tools=tools,
        settler=settler,
        heartbeat=heartbeat,
        breaker=breaker,
        stopping=stopping,
        batch_size=batch_size,
        poll=settings.poll,
        rng=rng,
    )


def delivery_config(settings: Settings) -> DeliveryConfig:
    """The configuration of a new worker, with an id that is never used again."""
    return DeliveryConfig(
        worker=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
        domain=headers.mail_from_domain(settings.mail_from),
        lease=timedelta(seconds=settings.lease),
        uncertainty=settings.uncertainty,
        first_delay=timedelta(seconds=settings.backoff),
        deadline=settings.deadline,
        any_timeline=settings.failover == "continue",
        claims_nothing=settings.cutover == "shadow",
    )


def connection_pool(settings: Settings, *, helo: str, concurrency: int) -> ConnectionPool:
    """The pool for SMTP_URL. Raises SettingsError."""
    try:
        server = SmtpServer.from_url(settings.smtp_url.get_secret_value())
    except ValueError as error:
        raise SettingsError(str(error)) from None
    return ConnectionPool(
        server,
        helo=helo,
        connect_deadline=min(MAX_CONNECT_SECONDS, settings.deadline / 4),
        limits=ServerLimits(threshold=settings.breaker_threshold),
        concurrency=concurrency,
    )


def start_heartbeat(
    settings: Settings, engine: Engine, *, worker: str, description: Description = UNKNOWN
) -> Heartbeat:
    """Register the worker and start its heartbeat."""
    heartbeat = Heartbeat(
        engine,
        worker=worker,
        interval=settings.heartbeat,
        dead_after=settings.worker_dead,
        lease=settings.lease,
        deadline=settings.deadline,
        description=description,
    )
    heartbeat.start()
    return heartbeat


def push_sender(settings: Settings, *, engine: Engine, failpoint: FailpointHook, stopping: Event) -> PushSender:
    """The sender of pushes to devices and services."""
    is_named = settings.base_url.startswith("https://")
    return PushSender(
        channel=PushChannel(
            keys=settings.keys,
            rng=Random(),  # noqa: S311 - jitter of waits, guards nothing
            contact=settings.base_url if is_named else f"mailto:{headers.mail_from_address(settings.mail_from)}",
            base_url=settings.base_url,
            allowed=settings.channels,
        ),
        engine=engine,
        allow_private=settings.allow_private_push_services,
        failpoint=failpoint,
        stopping=stopping,
    )


def _webhook_sender(settings: Settings, *, failpoint: FailpointHook, stopping: Event) -> WebhookSender:
    return WebhookSender(
        channel=WebhookChannel(keys=settings.keys, rng=Random()),  # noqa: S311 - jitter of waits, guards nothing
        engine=_sending_engine(settings, name="webhook", stopping=stopping),
        allow_private=settings.allow_private_webhooks,
        failpoint=failpoint,
        stopping=stopping,
    )


def _sending_engine(settings: Settings, *, name: str, stopping: Event) -> Engine:
    """A separate engine, so that no delivery waits for these connections."""
    return make_engine(
        settings.database_url.get_secret_value(),
        name=name,
        pool_size=SENDING_CONNECTIONS,
        pgbouncer=settings.pgbouncer,
        ping_after=PING_AFTER,
        read_timeout=read_timeout_until(stopping),
        by_index=True,
    )


def _engine(settings: Settings, *, stopping: Event) -> Engine:
    return make_engine(
        settings.database_url.get_secret_value(),
        name="worker",
        pool_size=CONNECTIONS,
        pgbouncer=settings.pgbouncer,
        ping_after=PING_AFTER,
        idle=MIN_IDLE_TIMEOUT,
        read_timeout=read_timeout_until(stopping),
        by_index=True,
    )


def _journal(settings: Settings, *, worker: str) -> FactJournal:
    folder = settings.home / "journal"
    try:
        return FactJournal(folder, worker=worker)
    except OSError as error:
        raise SettingsError(
            f"The worker keeps what the mail server answered in {folder} while the database is unavailable, and "
            f"cannot write there ({error.strerror}); set SNOOZER_HOME to a folder it may write to"
        ) from None
