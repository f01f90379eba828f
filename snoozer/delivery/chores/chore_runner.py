"""How a chore runs: by one clock at a time, in bounded batches, recording when it finished, skipping bad rows."""

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import chain
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from snoozer.db.bisection import bisect
from snoozer.db.errors import error_text, is_of_rows, is_timeout
from snoozer.db.statements import ALL_IDS, execute

T = TypeVar("T")

# Handles one batch of rows with ids in the range; returns what it changed.
Chore = Callable[[Connection, range], list[T]]

log = logging.getLogger(__name__)

BATCH_SIZE = 500
MAX_BATCHES = 20


def record_server_start(engine: Engine) -> None:
    """Record when the database server was first seen since its start: after an outage, leases and heartbeats count from
    then. Call it before treating any of them as expired."""
    with engine.begin() as connection:
        execute(connection, "housekeeping/record_server_start")


def run_exclusive(engine: Engine, name: str, chore: Callable[[Connection], T]) -> T | None:
    """Run a chore in one transaction; returns None if another clock is running it."""
    with engine.begin() as connection:
        if not execute(connection, "housekeeping/try_lock", chore=name).scalar_one():
            return None
        result = chore(connection)
        execute(connection, "housekeeping/record_run", chore=name)
        return result


def run_if_due(engine: Engine, name: str, *, every: timedelta, chore: Callable[[], object]) -> bool:
    """Run a chore of any number of transactions if its last completion was recorded `every` ago, or never; returns
    whether it ran. The record in the database counts, so that a clock that restarts often misses no run. Two clocks may
    run it at once, as each of its parts is exclusive; a chore that fails is due again at the next call."""
    with engine.connect() as connection:
        if was_done(connection, name, within=every):
            return False
    chore()
    record_run(engine, name)
    return True


def was_done(connection: Connection, name: str, *, within: timedelta) -> bool:
    """Whether the last completion of a chore is recorded, and no longer ago."""
    return not execute(connection, "housekeeping/is_due", chore=name, every=within).scalar_one()


def record_run(engine: Engine, name: str) -> None:
    """Record that a chore finished now."""
    with engine.begin() as connection:
        execute(connection, "housekeeping/record_run", chore=name)


def record_refusal(engine: Engine, name: str) -> None:
    """Record that the database refuses a chore, for the overview and the doctor."""
    _note(engine, "housekeeping/record_refusal", chore=name)


def forget_refusals(engine: Engine, *names: str) -> None:
    """Record that these chores are not refused any more; without names, that none is known to be."""
    _note(engine, "housekeeping/forget_refusals", chores=list(names) or None)


def _note(engine: Engine, statement: str, **values: object) -> None:
    try:
        with engine.begin() as connection:
            execute(connection, statement, **values)
    except SQLAlchemyError as error:
        # The same right may be missing for this: the log has both.
        log.warning("a refusal is in this log only: %s", error_text(error))


def in_batches(engine: Engine, name: str, chore: Chore[T]) -> list[T]:
    """Run a chore batch by batch until a batch is not full, at most MAX_BATCHES times. A row that fails is skipped."""
    changed: list[T] = []
    for _ in range(MAX_BATCHES):
        batch = _batch(engine, name, chore) or []
        changed += batch
        if len(batch) < BATCH_SIZE:
            break
    return changed


def _batch(engine: Engine, name: str, chore: Chore[T]) -> list[T] | None:
    try:
        return run_exclusive(engine, name, lambda connection: chore(connection, ALL_IDS))
    except DBAPIError as error:
        if is_timeout(error):
            log.warning("%s: took too long, and goes on at its next turn", name)
            return None
        if not is_of_rows(error):
            raise
        return run_exclusive(engine, name, lambda connection: _skip_bad_rows(connection, name, chore))


def _skip_bad_rows(connection: Connection, name: str, chore: Chore[T]) -> list[T]:
    changed, failed = bisect(connection, ALL_IDS, partial(chore, connection), is_row_error=is_of_rows)
    for id, error in failed:
        log.warning("%s: row %d was left out: %s", name, id, type(error.orig).__name__)
    return [*chain(*changed)]
