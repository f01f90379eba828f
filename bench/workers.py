"""Starts real workers for a run, waits until all are registered, and stops them at its end."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench.environment import Environment
from bench.report import BenchError, Progress
from snoozer.queue import workers
from snoozer.resources import PYTHON_MODULE

# For one worker; many that start at once on few cores slow each other down.
START_SECONDS = 30.0
STOP_SECONDS = 30.0
POLL_SECONDS = 0.1


@contextmanager
def running_workers(
    environment: Environment,
    *,
    count: int,
    options: Sequence[str] = (),
    settings: dict[str, str] | None = None,
    progress: Progress = lambda done: None,
) -> Iterator[list[int]]:
    """Run workers until the end of the block; yield their process ids. `settings` are added to their environment.

    Raises BenchError if a worker does not start or ends early.
    """
    command = [*PYTHON_MODULE, "snoozer", "worker", *options]
    variables = environment.variables | (settings or {})
    processes = [
        subprocess.Popen(
            command, cwd=environment.checkout, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(count)
    ]
    try:
        _wait_until_registered(environment, processes, progress=progress)
        yield [process.pid for process in processes]
        if ended := [process for process in processes if process.poll() is not None]:
            raise BenchError(f"{len(ended)} of {count} workers ended before the run was over")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            _wait_or_kill(process)


def _wait_until_registered(
    environment: Environment, processes: Sequence["subprocess.Popen[bytes]"], *, progress: Progress
) -> None:
    end = time.monotonic() + START_SECONDS * len(processes)
    while True:
        with environment.engine.connect() as connection:
            alive = len(workers.list_alive(connection))
        progress(alive)
        if alive >= len(processes):
            return
        if any(process.poll() is not None for process in processes):
            raise BenchError("A worker ended before it was at work")
        if time.monotonic() > end:
            raise BenchError(f"After {START_SECONDS * len(processes):g} s only {alive} workers were at work")
        time.sleep(POLL_SECONDS)


def _wait_or_kill(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
