"""`snoozer worker --processes N`: so many workers side by side, each an incarnation of its own."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from threading import Event

from snoozer.domain.ending import when_told_to_stop
from snoozer.shipped import MODULE

AGAIN_SECONDS = 1.0
LOOK_SECONDS = 0.2


def run(arguments: Sequence[str], *, count: int, lasting: bool) -> int:
    """Run `count` workers until they end; answers the worst of their exit codes.

    A signal to stop is handed on to all of them, and where this process is killed, they stop by themselves. With
    `lasting`, one that ends unasked is replaced after a second.
    """
    command = [*MODULE, "snoozer", "worker", f"--parent={os.getpid()}", *arguments]
    stopping = Event()
    when_told_to_stop(stopping.set)
    workers = [subprocess.Popen(command) for _ in range(count)]
    told, worst = False, 0
    while workers:
        if stopping.is_set() and not told:
            told = True
            for worker in workers:
                worker.send_signal(signal.SIGTERM)
        for worker in [worker for worker in workers if worker.poll() is not None]:
            workers.remove(worker)
            if lasting and not told:
                time.sleep(AGAIN_SECONDS)
                workers.append(subprocess.Popen(command))
            else:
                worst = max(worst, abs(worker.returncode))
        if workers:
            time.sleep(LOOK_SECONDS)
    return worst
