"""The bell that rings when a row comes in that is due within two seconds. What it misses, the poll finds."""

import logging
import time
from collections.abc import Callable
from threading import Event, Thread

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.db.errors import error_text
from snoozer.db.listen_notify import listen

log = logging.getLogger(__name__)

# A line that was cut is taken up at once; a database that is away is not hammered.
INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 5.0


class NotifyListener:
    """Listens in a thread of its own, from `start` to `stop`, on a connection of its own; anew when it is cut."""

    def __init__(self, engine: Engine, *, on_notify: Callable[[], None]) -> None:
        self._engine = engine
        self._on_notify = on_notify
        self._stop = Event()
        self._thread = Thread(target=self._run, name="bell", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        pause = INITIAL_BACKOFF
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                listen(self._engine, heard=self._on_notify, until=self._stop.is_set)
            except SQLAlchemyError as error:
                log.info("nothing rings for a moment: %s", error_text(error))
                pause = INITIAL_BACKOFF if time.monotonic() - began > MAX_BACKOFF else min(2 * pause, MAX_BACKOFF)
                self._stop.wait(pause)
