"""What keeps the clock's chores apart: each runs once at a time, says when it was last done, gets past a bad row."""

import logging
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from snoozer.db.errors import is_transient
from snoozer.db.statements import ALL_IDS, execute

T = TypeVar("T")

# One batch of a chore among these ids; answers what it changed.
Chore = Callable[[Connection, range], list[T]]

log = logging.getLogger(__name__)

BATCH_SIZE = 500
MAX_BATCHES = 20


def record_server_start(engine: Engine) -> None:
    """Note when the database server was first met since it started: after an outage the grace of all counts from there.

    To be done before anything is judged by its silence.
    """
    with engine.begin() as connection:
        execute(connection, "housekeeping/record_server_start")


def run_exclusive(engine: Engine, name: str, act: Callable[[Connection], T]) -> T | None:
    """Do a chore in one transaction, unless another clock is at it (None)."""
    with engine.begin() as connection:
        if not execute(connection, "housekeeping/try_lock", chore=name).scalar_one():
            return None
        result = act(connection)
        execute(connection, "housekeeping/record_run", chore=name)
        return result


def in_batches(engine: Engine, name: str, chore: Chore[T]) -> list[T]:
    """Do a chore batch by batch, alone, until a batch is not full. A row that cannot be done keeps no other back."""
    found: list[T] = []
    for _ in range(MAX_BATCHES):
        batch = _batch(engine, name, chore) or []
        found += batch
        if len(batch) < BATCH_SIZE:
            break
    return found


def _batch(engine: Engine, name: str, chore: Chore[T]) -> list[T] | None:
    try:
        return run_exclusive(engine, name, lambda connection: chore(connection, ALL_IDS))
    except DBAPIError as error:
        if is_transient(error):
            raise
        return run_exclusive(engine, name, lambda connection: _skip_bad_rows(connection, name, chore, ALL_IDS))


def _skip_bad_rows(connection: Connection, name: str, chore: Chore[T], among: range) -> list[T]:
    """Halve the ids until what fails is one row; the rest is done."""
    try:
        with connection.begin_nested():
            return chore(connection, among)
    except DBAPIError as error:
        if is_transient(error):
            raise
        if len(among) == 1:
            log.warning("%s: row %d was left out: %s", name, among[0], type(error.orig).__name__)
            return []
    middle = len(among) // 2
    return [one for half in (among[:middle], among[middle:]) for one in _skip_bad_rows(connection, name, chore, half)]
