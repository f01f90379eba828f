"""How the queue stands: asked of the database when somebody reads the figures."""

import time
from collections.abc import Iterable, Mapping
from functools import partial
from threading import Lock
from typing import Any

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.statements import execute
from snoozer.db.timeouts import deadline

# Gauges that are read together come from one answer.
SAME_MOMENT_SECONDS = 0.5
# Two queries are asked, and Prometheus waits for ten seconds.
ANSWER_SECONDS = 4.0

# Instrument, support query, its column, what it means.
_GAUGES = (
    ("queue.depth", "backlog", "due", "Snoozes that are due and not claimed"),
    ("queue.asleep", "backlog", "asleep", "Snoozes whose time has not come; beyond a hundred thousand an estimate"),
    ("queue.in_flight", "backlog", "claimed", "Snoozes held by workers"),
    ("queue.oldest_due_seconds", "backlog", "oldest_due_seconds", "How long the oldest due snooze has waited"),
    ("queue.oldest_claim_seconds", "backlog", "oldest_claim_seconds", "How long the oldest claim has been held"),
    ("queue.cases", "health", "cases", "Retired snoozes that wait for people"),
    ("queue.retrying", "health", "retrying", "Snoozes with failed attempts that are tried again within a day"),
    ("ledger.uncertain", "health", "uncertain", "Reminders that may have been sent"),
    ("breaker.open", "health", "breakers_open", "Mail servers that are left alone for now"),
    ("workers.alive", "health", "workers", "Workers that are alive"),
    ("housekeeping.age_seconds", "health", "housekeeping_age", "Seconds since housekeeping last ran, -1 for never"),
)


def register_gauges(engine: Engine, meter: Meter) -> None:
    """Gauges of what the database says now."""
    told = {query: _Told(engine, query) for _, query, _, _ in _GAUGES}
    for name, query, column, description in _GAUGES:
        read = partial(told[query].observed, column)
        meter.create_observable_gauge(name, callbacks=[read], description=description)


class _Told:
    """What one support query says: asked once for all the gauges that are read in the same moment."""

    def __init__(self, engine: Engine, query: str) -> None:
        self._engine, self._query = engine, query
        self._row: Mapping[str, Any] = {}
        self._asked = float("-inf")
        self._lock = Lock()

    def observed(self, column: str, options: CallbackOptions) -> Iterable[Observation]:
        with self._lock:
            if time.monotonic() - self._asked > SAME_MOMENT_SECONDS:
                self._row, self._asked = self._ask(), time.monotonic()
            return [Observation(float(self._row[column]))] if self._row else []

    def _ask(self) -> Mapping[str, Any]:
        try:
            with deadline(ANSWER_SECONDS), self._engine.connect() as connection:
                return dict(execute(connection, f"support/{self._query}").mappings().one())
        except SQLAlchemyError:
            return {}  # No figure is better than an old one: the database is away, and /readyz says so.
