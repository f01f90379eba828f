"""`snoozer worker --processes N`: so many workers side by side, each an incarnation of its own."""

import logging
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event

from snoozer.resources import PYTHON_MODULE
from snoozer.runtime.signals import describe_exit, on_stop_signal

log = logging.getLogger(__name__)

INITIAL_BACKOFF, MAX_BACKOFF = 1.0, 30.0
HEALTHY_AFTER_SECONDS = 30.0
POLL_INTERVAL = 0.2


@dataclass
class WorkerSlot:
    """One of the workers, and how long to wait before the next is started in its place."""

    command: Sequence[str]
    worker: "subprocess.Popen[bytes] | None" = None
    began: float = 0.0
    backoff: float = INITIAL_BACKOFF
    restart_at: float = 0.0

    def start(self) -> None:
        self.worker, self.began = subprocess.Popen(self.command), time.monotonic()

    def poll_exit(self) -> int | None:
        """The exit code, once, of a worker that ended."""
        code = None if self.worker is None else self.worker.poll()
        if code is not None:
            self.worker = None
        return code

    def schedule_restart(self) -> float:
        """After a pause that doubles, unless the last one worked for a while. Answers the seconds."""
        now = time.monotonic()
        wait = INITIAL_BACKOFF if now - self.began > HEALTHY_AFTER_SECONDS else self.backoff
        self.backoff, self.restart_at = min(2 * wait, MAX_BACKOFF), now + wait
        return wait


def run(arguments: Sequence[str], *, count: int, lasting: bool) -> int:
    """Run `count` workers until they end; answers the worst of their exit codes.

    A signal to stop is handed on to all of them, and where this process is killed, they stop by themselves. With
    `lasting`, one that ends unasked is replaced: after a second, and later each time when the next ones end soon, too.
    """
    command = [*PYTHON_MODULE, "snoozer", "worker", f"--parent={os.getpid()}", *arguments]
    stopping = Event()
    on_stop_signal(stopping.set)
    places = [WorkerSlot(command) for _ in range(count)]
    for place in places:
        place.start()
    worst = 0
    while lasting or any(place.worker for place in places):
        if stopping.is_set():
            return max(worst, *(_stop_all(places)))
        for place in places:
            code = place.poll_exit()
            if code is not None and lasting:
                log.warning(
                    "a worker %s; another one is started in %g s", describe_exit(code), place.schedule_restart()
                )
            elif code is not None:
                worst = max(worst, abs(code))
            elif lasting and place.worker is None and time.monotonic() >= place.restart_at:
                place.start()
        stopping.wait(POLL_INTERVAL)
    return worst


def _stop_all(places: Sequence[WorkerSlot]) -> list[int]:
    """Tell all that are left to stop, and wait for them; their exit codes, and a 0."""
    left = [place.worker for place in places if place.worker is not None]
    for worker in left:
        worker.send_signal(signal.SIGTERM)
    return [0, *(abs(worker.wait()) for worker in left)]
