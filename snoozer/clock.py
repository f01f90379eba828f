"""ENTRANCE of the clock: APScheduler keeps housekeeping on time. It only ticks; the truth is in the database."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Event
from typing import Any

import click
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from snoozer import housekeeping, settings, telemetry
from snoozer.domain.ending import when_told_to_stop
from snoozer.postgres.engine import connect, patience_until
from snoozer.postgres.reason import reason
from snoozer.settings import Settings

log = logging.getLogger(__name__)

ARCHIVE_SECONDS = 60
TIDY_SECONDS = 3600
MONTHS_SECONDS = 86_400


@click.command("clock", help="Keep housekeeping on time: recover what lost workers held, retire, archive, tidy.")
@click.option("--once", is_flag=True, help="Do each chore once, then stop.")
def command(once: bool) -> None:
    terms = settings.load().need("database_url")
    stopping = Event()
    if not once:
        when_told_to_stop(stopping.set)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    engine = connect(
        terms.database_url.get_secret_value(),
        name="clock",
        pool_size=2,
        pgbouncer=terms.pgbouncer,
        idle=terms.worker_dead,
        patience=patience_until(stopping),
    )
    flush = telemetry.start(service="snoozer-clock", engine=engine, **terms.telemetry)
    try:
        if once:
            sweep(engine, terms)
            housekeeping.keep_months(engine, terms=terms.retention)
            housekeeping.archive(engine, terms=terms.retention)
            housekeeping.tidy(engine)
        else:
            _tick_on(engine, terms, until=stopping)
    finally:
        flush()
        engine.dispose()


def sweep(engine: Engine, terms: Settings) -> None:
    """One sweep, counted."""
    telemetry.swept(housekeeping.sweep(engine, terms=terms.housekeeping))


def _tick_on(engine: Engine, terms: Settings, *, until: Event) -> None:
    scheduler = BackgroundScheduler(timezone="UTC")
    every: dict[str, Any] = {"trigger": "interval", "max_instances": 1, "coalesce": True, "misfire_grace_time": None}

    def at_each(seconds: float, chore: Callable[[], object], **when: Any) -> None:
        scheduler.add_job(_patiently(chore), seconds=seconds, **every, **when)

    retention = terms.retention
    at_each(min(terms.sweep, terms.worker_dead / 5), lambda: sweep(engine, terms))
    at_each(ARCHIVE_SECONDS, lambda: housekeeping.archive(engine, terms=retention))
    at_each(TIDY_SECONDS, lambda: housekeeping.tidy(engine))
    at_each(MONTHS_SECONDS, lambda: housekeeping.keep_months(engine, terms=retention), next_run_time=datetime.now(UTC))
    scheduler.start()
    until.wait()
    scheduler.shutdown(wait=False)


def _patiently(chore: Callable[[], object]) -> Callable[[], None]:
    """A tick that finds the database away is left out; the next one does its work."""

    def run() -> None:
        try:
            chore()
        except DBAPIError as error:
            log.warning("a chore was not done: %s; it is done again at the next tick", reason(error))

    return run
