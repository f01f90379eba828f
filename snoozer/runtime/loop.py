"""A thread that repeats its work until it is stopped."""

import time
from collections.abc import Callable
from threading import Event, Thread

from snoozer.runtime.backoff import Backoff

FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0


class Loop:
    """Calls `turn` from `start` to `stop`; `turn` returns the seconds until the next one.

    After any error it calls `report`, waits, longer each time, and goes on: if its thread ended, its work would stop
    unnoticed.
    """

    def __init__(
        self,
        turn: Callable[[], float],
        *,
        name: str,
        report: Callable[[Exception], None],
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self._turn, self._report = turn, report
        self._backoff = Backoff(first=first_wait, cap=LONGEST_WAIT, healthy_after=LONGEST_WAIT)
        self.stopping = Event()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Wait for the end of the present turn."""
        self.stopping.set()
        self._thread.join()

    def _run(self) -> None:
        began = time.monotonic()
        while not self.stopping.is_set():
            try:
                self.stopping.wait(self._turn())
            except Exception as error:
                self._report(error)
                self.stopping.wait(self._backoff.next_wait(worked_for=time.monotonic() - began))
                began = time.monotonic()
