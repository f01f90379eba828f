"""ENTRANCE of the clock: APScheduler runs the chores on time. Their state is in the database only."""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from threading import Event
from typing import Any

import click
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from snoozer import settings, telemetry
from snoozer.db import schema
from snoozer.db.engine import make_engine, read_timeout_until
from snoozer.db.errors import error_text, is_lasting
from snoozer.delivery.chores import chore_runner, chores, recovery
from snoozer.delivery.chores.chores import Retention
from snoozer.delivery.chores.erasing import erase_accounts
from snoozer.delivery.chores.recovery import SweepConfig
from snoozer.delivery.chores.returns import return_due, return_loop
from snoozer.delivery.chores.snippets import fill_snippets
from snoozer.operators import chunks, pauses
from snoozer.runtime.backoff import Pauses
from snoozer.runtime.failpoint import FailpointHook
from snoozer.runtime.loop import Loop
from snoozer.runtime.signals import on_stop_signal
from snoozer.settings import Settings
from snoozer.telemetry import log_format

log = logging.getLogger(__name__)

CONNECTIONS = 3
ARCHIVE_SECONDS = 60
ERASE_SECONDS = 10
# A minute is recorded soon after its end.
MINUTES_SECONDS = 20
# The longest time an operator's operation waits before it is started or continued.
OPERATE_SECONDS = 1
# How often to check whether an hourly or daily chore is due.
LOOK_SECONDS = 60
# A chore that is refused again and again pauses so long.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 2.0, 60.0


@click.command("clock")
@click.option("--once", is_flag=True, help="Do each chore once, then stop.")
def command(once: bool) -> None:
    config = settings.load().require("database_url")
    stopping = Event()
    if not once:
        on_stop_signal(stopping.set)
    log_format.configure(config.log_format, process="clock")
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    engine = make_engine(
        config.database_url.get_secret_value(),
        name="clock",
        pool_size=CONNECTIONS,
        pgbouncer=config.pgbouncer,
        idle=config.worker_dead,
        read_timeout=read_timeout_until(stopping),
    )
    if not once:
        with suppress(DBAPIError):  # The database is unavailable: each chore is repeated until it is back.
            schema.wait_until_migrated(engine, stopping=stopping)
    passed = config.failpoint_hook or chunks.no_failpoint
    flush = telemetry.start(service="snoozer-clock", engine=engine, **config.telemetry)
    try:
        if once:
            retention = Retention.from_settings(config)
            return_due(engine)
            recovery.sweep(engine, config=SweepConfig.from_settings(config))
            pauses.end_expired(engine)
            pauses.bring_in_left(engine)
            chunks.work(engine, passed=passed)
            chores.maintain_partitions(engine, config=retention)
            chores.archive(engine, config=retention)
            chores.prune(engine)
            erase_accounts(engine)
            chores.prune_changes(engine)
            chores.record_minutes(engine)
            chores.roll_minutes(engine)
            fill_snippets(engine)
        else:
            _run_scheduler(engine, config, passed=passed, until=stopping)
    finally:
        flush()
        engine.dispose()


def _run_scheduler(engine: Engine, config: Settings, *, passed: FailpointHook, until: Event) -> None:
    unjoined = _unjoined_loops(engine, config)
    scheduler = BackgroundScheduler(timezone="UTC")
    every: dict[str, Any] = {"trigger": "interval", "max_instances": 1, "coalesce": True, "misfire_grace_time": None}

    pauses_between = Pauses(first=FIRST_PAUSE_SECONDS, cap=LONGEST_PAUSE_SECONDS)

    chore_runner.forget_refusals(engine)

    def add_job(name: str, seconds: float, chore: Callable[[], object], **when: Any) -> None:
        job = partial(do_chore, engine, name, chore, pauses=pauses_between)
        scheduler.add_job(job, name=name, seconds=seconds, **every, **when)

    at_once = {"next_run_time": datetime.now(UTC)}

    retention, sweep_config = Retention.from_settings(config), SweepConfig.from_settings(config)
    add_job("sweep", min(config.sweep, config.worker_dead / 5), lambda: recovery.sweep(engine, config=sweep_config))
    add_job("pauses", min(config.sweep, OPERATE_SECONDS), lambda: pauses.end_expired(engine))
    add_job("paused rows", LOOK_SECONDS, lambda: pauses.bring_in_left(engine), **at_once)
    operations = partial(chunks.work, engine, passed=passed, pauses=pauses_between)
    add_job("operations", min(config.sweep, OPERATE_SECONDS), operations)
    add_job("archive", ARCHIVE_SECONDS, lambda: chores.archive(engine, config=retention), **at_once)
    add_job("list changes", LOOK_SECONDS, lambda: chores.forget_changes(engine), **at_once)
    add_job("minutes", MINUTES_SECONDS, lambda: chores.record_minutes(engine), **at_once)
    add_job("erasures", ERASE_SECONDS, lambda: erase_accounts(engine), **at_once)
    add_job("hourly", LOOK_SECONDS, lambda: chores.run_hourly(engine), **at_once)
    add_job("daily", LOOK_SECONDS, lambda: chores.run_daily(engine, config=retention), **at_once)
    add_job("snippets", LOOK_SECONDS, lambda: fill_snippets(engine), **at_once)
    returns = return_loop(engine, poll=config.poll)
    returns.start()
    scheduler.start()
    for loop in unjoined:
        loop.start()
    until.wait()
    for loop in unjoined:
        # Not joined: its request may take seconds, and nothing depends on its end.
        loop.stopping.set()
    scheduler.shutdown(wait=False)
    returns.stop()


def _unjoined_loops(engine: Engine, config: Settings) -> list[Loop]:
    """The loops that make requests to services: of SNOOZER_PING_URL, and of SNOOZER_CHANNELS for alarms."""
    # Imported here, because the doctor's checks import this module.
    from snoozer.cli.alarms import alarm_loop
    from snoozer.cli.ping import make_switch

    loops = [make_switch(engine, config).loop()] if config.ping_url.get_secret_value() else []
    return [*loops, alarm_loop(engine, config)] if config.channels else loops


def do_chore(engine: Engine, name: str, chore: Callable[[], object], *, pauses: Pauses) -> None:
    """Do a chore, unless it is paused. While the database is unavailable, its next tick does its work; after an error
    that lasts, such as a missing right, it pauses, longer each time, and the overview names it."""
    if not pauses.is_over(name):
        return
    try:
        chore()
    except DBAPIError as error:
        if is_lasting(error):
            wait = pauses.failed(name)
            log.warning("the chore %s is refused: %s; it is tried again in %.0f s", name, error_text(error), wait)
            chore_runner.record_refusal(engine, name)
        else:
            log.warning("the chore %s was not done: %s; it is done again soon", name, error_text(error))
    else:
        if pauses.succeeded(name):
            chore_runner.forget_refusals(engine, name)
