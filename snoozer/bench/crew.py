"""Real workers for a run: started together, at work when all are registered, ended when the run is over."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from snoozer.bench.ground import Ground
from snoozer.bench.refusal import BenchRefused
from snoozer.bench.run import Progress
from snoozer.db import workers
from snoozer.resources import PYTHON_MODULE

# For one worker; many that start at once on few cores stand in each other's way.
START_SECONDS = 30.0
STOP_SECONDS = 30.0
_LOOK = 0.1


@contextmanager
def crew(
    ground: Ground,
    *,
    count: int,
    options: Sequence[str] = (),
    settings: dict[str, str] | None = None,
    progress: Progress = lambda done: None,
) -> Iterator[list[int]]:
    """So many workers, until the end of the block; their process ids. `settings` are added to their environment."""
    command = [*PYTHON_MODULE, "snoozer", "worker", *options]
    environment = ground.environment | (settings or {})
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(count)
    ]
    try:
        _wait_until_registered(ground, running, progress=progress)
        yield [worker.pid for worker in running]
        if ended := [worker for worker in running if worker.poll() is not None]:
            raise BenchRefused(f"{len(ended)} of {count} workers ended before the run was over")
    finally:
        for worker in running:
            worker.terminate()
        for worker in running:
            _collect(worker)


def _wait_until_registered(ground: Ground, running: Sequence["subprocess.Popen[bytes]"], *, progress: Progress) -> None:
    end = time.monotonic() + START_SECONDS * len(running)
    while True:
        with ground.engine.connect() as connection:
            living = len(workers.list_alive(connection))
        progress(living)
        if living >= len(running):
            return
        if any(worker.poll() is not None for worker in running):
            raise BenchRefused("A worker ended before it was at work")
        if time.monotonic() > end:
            raise BenchRefused(f"After {START_SECONDS * len(running):g} s only {living} workers were at work")
        time.sleep(_LOOK)


def _collect(worker: "subprocess.Popen[bytes]") -> None:
    try:
        worker.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
