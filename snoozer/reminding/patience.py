"""Asking the database from an event loop, and again for as long as it is away."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import cached_property, partial
from random import Random
from typing import ParamSpec, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from snoozer.postgres.engine import may_pass

T = TypeVar("T")
P = ParamSpec("P")

# Threads that may wait for the database or for somebody's lock.
THREADS = 4

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0


@dataclass(frozen=True, kw_only=True)
class Patience:
    """`giving_up` ends the wait for an absent database."""

    engine: Engine
    giving_up: Callable[[], bool]
    rng: Random

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(THREADS, thread_name_prefix="settling")

    async def apart(self, act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Do it in one of the threads that may wait for the database, within the span of this delivery."""
        within = partial(copy_context().run, act, *values, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, within)

    async def until_done(self, act: Callable[[Connection], T]) -> T:
        """Do it in a transaction of its own, with the database there."""

        def once() -> T:
            with self.engine.begin() as connection:
                return act(connection)

        return await self.with_the_database(once)

    async def with_the_database(self, act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Do it with the database there, however long that takes, unless the worker is giving up."""
        pause = FIRST_PAUSE
        while True:
            try:
                return await self.apart(act, *values, **named)
            except SQLAlchemyError as error:
                if not may_pass(error) or self.giving_up():
                    raise
            await asyncio.sleep(pause * (0.5 + self.rng.random()))
            pause = min(pause * 2, LONGEST_PAUSE)
