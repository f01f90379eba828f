"""`snoozer worker --processes N`: so many workers side by side, each an incarnation of its own."""

import logging
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event

from snoozer.domain.ending import how_it_ended, when_told_to_stop
from snoozer.shipped import MODULE

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
WELL_AFTER_SECONDS = 30.0
LOOK_SECONDS = 0.2


@dataclass
class Place:
    """One of the workers, and how long to wait before the next is started in its place."""

    command: Sequence[str]
    worker: "subprocess.Popen[bytes] | None" = None
    began: float = 0.0
    pause: float = FIRST_PAUSE
    again_at: float = 0.0

    def start(self) -> None:
        self.worker, self.began = subprocess.Popen(self.command), time.monotonic()

    def ended(self) -> int | None:
        """The exit code, once, of a worker that ended."""
        code = None if self.worker is None else self.worker.poll()
        if code is not None:
            self.worker = None
        return code

    def start_later(self) -> float:
        """After a pause that doubles, unless the last one worked for a while. Answers the seconds."""
        now = time.monotonic()
        wait = FIRST_PAUSE if now - self.began > WELL_AFTER_SECONDS else self.pause
        self.pause, self.again_at = min(2 * wait, LONGEST_PAUSE), now + wait
        return wait


def run(arguments: Sequence[str], *, count: int, lasting: bool) -> int:
    """Run `count` workers until they end; answers the worst of their exit codes.

    A signal to stop is handed on to all of them, and where this process is killed, they stop by themselves. With
    `lasting`, one that ends unasked is replaced: after a second, and later each time when the next ones end soon, too.
    """
    command = [*MODULE, "snoozer", "worker", f"--parent={os.getpid()}", *arguments]
    stopping = Event()
    when_told_to_stop(stopping.set)
    places = [Place(command) for _ in range(count)]
    for place in places:
        place.start()
    worst = 0
    while lasting or any(place.worker for place in places):
        if stopping.is_set():
            return max(worst, *(_stopped(places)))
        for place in places:
            code = place.ended()
            if code is not None and lasting:
                log.warning("a worker %s; another one is started in %g s", how_it_ended(code), place.start_later())
            elif code is not None:
                worst = max(worst, abs(code))
            elif lasting and place.worker is None and time.monotonic() >= place.again_at:
                place.start()
        stopping.wait(LOOK_SECONDS)
    return worst


def _stopped(places: Sequence[Place]) -> list[int]:
    """Tell all that are left to stop, and wait for them; their exit codes, and a 0."""
    left = [place.worker for place in places if place.worker is not None]
    for worker in left:
        worker.send_signal(signal.SIGTERM)
    return [0, *(abs(worker.wait()) for worker in left)]
