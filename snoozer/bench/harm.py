"""What can happen to the connections on which workers hear of new rows: they are cut, or nothing comes through."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Literal

from snoozer.bench.ground import Ground
from snoozer.db.statements import execute

Harm = Literal["", "cut", "silent"]

EVERY_SECONDS = 0.25


@contextmanager
def harmed(ground: Ground, harm: Harm) -> Iterator[None]:
    """Until the end of the block, four times a second: end these sessions, or stop their processes in the server."""
    over, stopped = Event(), set[int]()

    def go_on() -> None:
        while not over.wait(EVERY_SECONDS):
            if harm == "cut":
                _cut(ground)
            else:
                stopped.update(_silence(ground))

    thread = Thread(target=go_on, name="harm", daemon=True)
    if harm:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if harm:
            thread.join()
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _cut(ground: Ground) -> None:
    with ground.engine.begin() as connection:
        execute(connection, "bench/cut_listeners")


def _silence(ground: Ground) -> list[int]:
    with ground.engine.begin() as connection:
        pids = list(execute(connection, "bench/listeners").scalars())
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    return pids
