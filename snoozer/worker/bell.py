"""The bell that rings when a row comes in that is due within two seconds. What it misses, the poll finds."""

import logging
import time
from collections.abc import Callable
from threading import Event, Thread

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.postgres.notices import listen
from snoozer.postgres.reason import reason

log = logging.getLogger(__name__)

# A line that was cut is taken up at once; a database that is away is not hammered.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


class Bell:
    """Listens in a thread of its own, from `start` to `stop`, on a connection of its own; anew when it is cut."""

    def __init__(self, engine: Engine, *, ring: Callable[[], None]) -> None:
        self._engine = engine
        self._ring = ring
        self._stop = Event()
        self._thread = Thread(target=self._listen_on, name="bell", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _listen_on(self) -> None:
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                listen(self._engine, heard=self._ring, until=self._stop.is_set)
            except SQLAlchemyError as error:
                log.info("nothing rings for a moment: %s", reason(error))
                pause = FIRST_PAUSE if time.monotonic() - began > LONGEST_PAUSE else min(2 * pause, LONGEST_PAUSE)
                self._stop.wait(pause)
