"""`snoozer worker --processes N`: N workers, each in its own process."""

import logging
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event

from snoozer.resources import PYTHON_MODULE
from snoozer.runtime.backoff import Backoff
from snoozer.runtime.signals import describe_exit, on_stop_signal

log = logging.getLogger(__name__)

INITIAL_BACKOFF, MAX_BACKOFF = 1.0, 30.0
HEALTHY_AFTER_SECONDS = 30.0
POLL_INTERVAL = 0.2


def _restart_backoff() -> Backoff:
    return Backoff(first=INITIAL_BACKOFF, cap=MAX_BACKOFF, healthy_after=HEALTHY_AFTER_SECONDS)


@dataclass
class WorkerSlot:
    """The slot of one worker; if its process ends, another is started in it."""

    command: Sequence[str]
    process: "subprocess.Popen[bytes] | None" = None
    started_at: float = 0.0
    restart_at: float = 0.0
    backoff: Backoff = field(default_factory=_restart_backoff)

    def start(self) -> None:
        self.process, self.started_at = subprocess.Popen(self.command), time.monotonic()

    def poll_exit(self) -> int | None:
        """The exit code of a process that ended, returned once."""
        code = None if self.process is None else self.process.poll()
        if code is not None:
            self.process = None
        return code

    def schedule_restart(self) -> float:
        """Returns the seconds until the restart."""
        now = time.monotonic()
        wait = self.backoff.next_wait(worked_for=now - self.started_at)
        self.restart_at = now + wait
        return wait


def run(arguments: Sequence[str], *, count: int, restart: bool) -> int:
    """Run `count` workers until they end; returns the worst of their exit codes.

    A signal to stop is passed on to all of them; if this process is killed, they stop by themselves. With `restart`, a
    worker that ends unasked is replaced: after a second at first, and later each time if its successors end soon, too.
    """
    command = [*PYTHON_MODULE, "snoozer", "worker", f"--parent={os.getpid()}", *arguments]
    stopping = Event()
    on_stop_signal(stopping.set)
    slots = [WorkerSlot(command) for _ in range(count)]
    for slot in slots:
        slot.start()
    worst = 0
    while restart or any(slot.process for slot in slots):
        if stopping.is_set():
            return max(worst, *(_stop_all(slots)))
        for slot in slots:
            code = slot.poll_exit()
            if code is not None and restart:
                log.warning("a worker %s; another one is started in %g s", describe_exit(code), slot.schedule_restart())
            elif code is not None:
                worst = max(worst, abs(code))
            elif restart and slot.process is None and time.monotonic() >= slot.restart_at:
                slot.start()
        stopping.wait(POLL_INTERVAL)
    return worst


def _stop_all(slots: Sequence[WorkerSlot]) -> list[int]:
    """Stop all that run and wait for them; returns their exit codes, and a 0."""
    running = [slot.process for slot in slots if slot.process is not None]
    for process in running:
        process.send_signal(signal.SIGTERM)
    return [0, *(abs(process.wait()) for process in running)]
