"""Deliveries that a worker may still call back when it leaves: their mails have no mark yet."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class CalledBack(Exception):
    """The worker leaves; this mail gets no dot."""


class Recall:
    """For one event loop."""

    def __init__(self) -> None:
        self._called = False
        self._begun: set[asyncio.Task[object]] = set()

    @contextmanager
    def until_the_mark(self) -> Iterator[None]:
        """What the current task does in here ends with CalledBack when it is called back."""
        task = asyncio.current_task()
        if task is None or self._called:
            raise CalledBack
        self._begun.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._called:
                raise
            task.uncancel()
            raise CalledBack from None
        finally:
            self._begun.discard(task)

    def call_back(self) -> None:
        """All that are there, and whoever comes later."""
        self._called = True
        for task in self._begun:
            task.cancel()
