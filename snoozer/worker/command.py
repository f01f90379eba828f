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

from snoozer import housekeeping, settings, telemetry
from snoozer.domain import failpoint
from snoozer.domain.ending import when_left_alone, when_told_to_stop
from snoozer.domain.reminder import Send
from snoozer.mail import author
from snoozer.mail.compose import compose_reminder
from snoozer.mail.gate import Gate
from snoozer.mail.outbox import Outbox
from snoozer.mail.relay import Relay
from snoozer.postgres.engine import connect, patience_until
from snoozer.postgres.journal import Journal
from snoozer.reminding import Courier, Settlement, Terms, write_inherited_facts
from snoozer.reminding.patience import THREADS
from snoozer.reminding.taking import Passage
from snoozer.settings import Settings, SettingsRefused
from snoozer.worker.bell import Bell
from snoozer.worker.loop import Leaving, Worker
from snoozer.worker.processes import run as side_by_side
from snoozer.worker.protection import Protection
from snoozer.worker.pulse import Pulse

log = logging.getLogger(__name__)

LONGEST_CONNECT = 60.0
# Where a machine is shared, a herd of reminders steps back behind the pages that people look at.
NICENESS = 7
# Longer than a poll: whatever a worker asks, it asks again when the session turns out to be dead.
LONGEST_QUIET = 2.0
# A delivery leaves no cycles behind, and looking for them took a fifteenth of a worker's CPU.
OBJECTS_UNTIL_COLLECTED = 50_000
# Claims, heartbeat, bell, gauges; marks, conclusions, facts; and the threads that settle what is left.
CONNECTIONS = 4 + 3 + THREADS


@click.command("worker", help="Deliver what is due until told to stop.")
@click.option("--drain", is_flag=True, help="Stop when nothing is due or claimed.")
@click.option("--batch", type=click.IntRange(1, 1000), default=50, show_default=True, help="Rows claimed at once.")
@click.option("--concurrency", type=click.IntRange(1, 100), default=8, show_default=True, help="Deliveries at once.")
@click.option("--processes", type=click.IntRange(1, 64), default=1, show_default=True, help="Workers side by side.")
@click.option("--parent", type=int, hidden=True, help="Stop when this process, which started this one, is gone.")
def command(drain: bool, batch: int, concurrency: int, processes: int, parent: int | None) -> None:
    given = settings.load().need("database_url", "secret_key", "smtp_url", "mail_from", "base_url")
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    if processes > 1:
        arguments = [f"--batch={batch}", f"--concurrency={concurrency}", *(["--drain"] if drain else [])]
        sys.exit(side_by_side(arguments, count=processes, lasting=not drain))
    sys.exit(work(given, drain=drain, batch_size=batch, concurrency=concurrency, parent=parent))


def work(settings: Settings, *, drain: bool, batch_size: int, concurrency: int, parent: int | None) -> int:
    """Run one worker; answers the exit code. 1 means it was declared dead, and another incarnation must take over."""
    terms, passage, stopping = _terms(settings), _passage(settings), Event()
    os.nice(NICENESS)
    outbox = _outbox(settings, domain=terms.domain)
    rouse: list[Callable[[], None]] = []

    def stop() -> None:
        stopping.set()
        for wake in rouse:
            wake()

    when_told_to_stop(stop)
    if parent is not None:
        when_left_alone(stop, parent=parent)
    rng = Random()  # noqa: S311 - scatters waiting times, guards nothing
    with ExitStack() as closing:
        engine = connect(
            settings.database_url.get_secret_value(),
            name="worker",
            pool_size=CONNECTIONS,
            pgbouncer=settings.pgbouncer,
            quiet=LONGEST_QUIET,
            idle=settings.worker_dead,
            patience=patience_until(stopping),
        )
        closing.callback(engine.dispose)
        closing.callback(telemetry.start(service="snoozer-worker", engine=engine, **settings.telemetry))
        journal = _journal(settings, worker=terms.worker)
        closing.callback(journal.close)
        write_inherited_facts(engine, journal=journal, actor=terms.actor)
        pulse = _pulse(settings, engine, worker=terms.worker)
        pulse.start()
        closing.callback(pulse.stop)
        if settings.links_stay_here:
            log.warning("%s", settings.links_stay_here)
        settlement = Settlement(engine=engine, journal=journal, terms=terms, giving_up=stopping.is_set, rng=rng)
        courier = Courier(
            engine=engine,
            outbox=outbox,
            settlement=settlement,
            terms=terms,
            compose=_compose(settings, domain=terms.domain),
            passage=passage,
            still_ours=pulse.still_ours,
        )
        worker = Worker(
            engine,
            courier=courier,
            pulse=pulse,
            protection=_protection(settings, engine, outbox=outbox),
            stopping=stopping,
            batch_size=batch_size,
            concurrency=concurrency,
            poll=settings.poll,
            rng=rng,
        )
        closing.callback(worker.close)
        rouse.append(worker.wake)
        _collect_seldom()
        if not settings.pgbouncer and not drain:
            bell = Bell(engine, ring=worker.wake)
            bell.start()
            closing.callback(bell.stop)
        with suppress(Leaving):
            if drain:
                worker.drain(sweep=lambda: sweep(engine, settings), every=settings.sweep)
            else:
                worker.run()
        return 1 if pulse.declared_dead.is_set() else 0


def sweep(engine: Engine, settings: Settings) -> None:
    """What the clock does, for a drain that may run without one."""
    telemetry.swept(housekeeping.sweep(engine, terms=settings.housekeeping))


def _collect_seldom() -> None:
    """What stands by now is never garbage, and little of what comes is."""
    gc.freeze()
    gc.set_threshold(OBJECTS_UNTIL_COLLECTED)


def _terms(settings: Settings) -> Terms:
    return Terms(
        worker=f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}",
        domain=author.domain(settings.mail_from),
        lease=timedelta(seconds=settings.lease),
        uncertainty=settings.uncertainty,
        first_delay=timedelta(seconds=settings.backoff),
        deadline=settings.deadline,
    )


def _passage(settings: Settings) -> Passage:
    if not settings.failpoints or not settings.failpoint:
        return failpoint.never
    try:
        return failpoint.parse(settings.failpoint)
    except failpoint.BadFailpoint as bad:
        raise SettingsRefused(str(bad)) from None


def _journal(settings: Settings, *, worker: str) -> Journal:
    folder = settings.home / "journal"
    try:
        return Journal(folder, worker=worker)
    except OSError as error:
        raise SettingsRefused(
            f"The worker keeps what the mail server said in {folder} while the database is away, and cannot write "
            f"there ({error.strerror}); set SNOOZER_HOME to a folder it may write to"
        ) from None


def _pulse(settings: Settings, engine: Engine, *, worker: str) -> Pulse:
    return Pulse(
        engine,
        worker=worker,
        every=settings.heartbeat,
        dead_after=settings.worker_dead,
        lease=settings.lease,
        deadline=settings.deadline,
    )


def _outbox(settings: Settings, *, domain: str) -> Outbox:
    try:
        relay = Relay.from_url(settings.smtp_url.get_secret_value())
    except ValueError as refused:
        raise SettingsRefused(str(refused)) from None
    return Outbox(
        relay,
        helo=domain,
        mail_from=author.address(settings.mail_from),
        connect_deadline=min(LONGEST_CONNECT, settings.deadline / 4),
        gate=Gate(threshold=settings.breaker_threshold),
    )


def _protection(settings: Settings, engine: Engine, *, outbox: Outbox) -> Protection:
    return Protection(
        engine=engine,
        gate=outbox.gate,
        server=f"{outbox.relay.host}:{outbox.relay.port}",
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
