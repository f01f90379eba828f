"""ENTRANCE of the clock: APScheduler keeps housekeeping on time. It only ticks; the truth is in the database."""

import logging
import signal
from collections.abc import Callable
from typing import Any

import click
from apscheduler.schedulers.blocking import BlockingScheduler
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from snoozer import housekeeping, settings, telemetry
from snoozer.postgres.engine import connect
from snoozer.settings import Settings

log = logging.getLogger(__name__)

TIDY_SECONDS = 3600


@click.command("clock", help="Keep housekeeping on time: recover what lost workers held, retire, tidy.")
@click.option("--once", is_flag=True, help="Sweep and tidy once, then stop.")
def command(once: bool) -> None:
    terms = settings.load().need("database_url")
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.INFO)
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    engine = connect(terms.database_url.get_secret_value(), name="clock", pool_size=2, pgbouncer=terms.pgbouncer)
    flush = telemetry.start(service="snoozer-clock", engine=engine, **terms.telemetry)
    try:
        if once:
            sweep(engine, terms)
            housekeeping.tidy(engine)
        else:
            _tick_on(engine, terms)
    finally:
        flush()
        engine.dispose()


def sweep(engine: Engine, terms: Settings) -> None:
    """One sweep, counted."""
    swept = housekeeping.sweep(engine, terms=terms.housekeeping)
    telemetry.swept(recovered=len(swept.recovered), retired=swept.cases)


def _tick_on(engine: Engine, terms: Settings) -> None:
    scheduler = BlockingScheduler(timezone="UTC")
    every: dict[str, Any] = {"trigger": "interval", "max_instances": 1, "coalesce": True, "misfire_grace_time": None}
    scheduler.add_job(_patiently(lambda: sweep(engine, terms)), seconds=terms.sweep, **every)
    scheduler.add_job(_patiently(lambda: housekeeping.tidy(engine)), seconds=TIDY_SECONDS, **every)
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: scheduler.shutdown(wait=False))
    scheduler.start()


def _patiently(chore: Callable[[], None]) -> Callable[[], None]:
    """A tick that finds the database away is left out; the next one does its work."""

    def run() -> None:
        try:
            chore()
        except DBAPIError as error:
            log.warning("a chore was not done: %s; it is done again at the next tick", type(error.orig).__name__)

    return run
