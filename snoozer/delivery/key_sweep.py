"""Now and then, look for rows that wait behind others of their serialization key, though those were cancelled, moved or
committed late: no claim looks at them until then."""

import time
from collections.abc import Callable

from sqlalchemy import Engine

from snoozer.queue import queue

SWEEP_SECONDS = 2.0
KEYS_PER_SWEEP = 500
# After a part of t seconds, the next one comes after SPACING * t seconds at the earliest.
SPACING = 10


class KeySweep:
    """Sweeps all keys every SWEEP_SECONDS, a part of them at a time; `known_schema` is the worker's."""

    def __init__(self, *, known_schema: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._known_schema = known_schema
        self._clock = clock
        self._from_key = ""
        self._due_at = clock()

    def run_if_due(self, engine: Engine) -> None:
        """Sweep one part of the keys, in its own transaction, if it is time to."""
        began = self._clock()
        if began < self._due_at:
            return
        with engine.begin() as connection:
            keys = queue.keys_behind(connection, from_key=self._from_key, limit=KEYS_PER_SWEEP)
            if keys:
                queue.advance_keys(connection, keys=keys, known_schema=self._known_schema)
        ended, is_last = self._clock(), len(keys) < KEYS_PER_SWEEP
        self._from_key = "" if is_last else keys[-1]
        self._due_at = ended + (SWEEP_SECONDS if is_last else SPACING * (ended - began))
