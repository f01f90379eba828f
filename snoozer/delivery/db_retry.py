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
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from snoozer.db.errors import is_row_error, is_transient

T = TypeVar("T")
P = ParamSpec("P")

# Threads that may wait for the database or for somebody's lock.
THREADS = 4

INITIAL_BACKOFF, MAX_BACKOFF = 0.05, 2.0


@dataclass(frozen=True, kw_only=True)
class DatabaseRetry:
    """`giving_up` ends the wait for an absent database."""

    engine: Engine
    shutting_down: Callable[[], bool]
    rng: Random

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(THREADS, thread_name_prefix="settling")

    async def in_thread(self, act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Do it in one of the threads that may wait for the database, within the span of this delivery."""
        within = partial(copy_context().run, act, *values, **named)
        return await asyncio.get_running_loop().run_in_executor(self._threads, within)

    async def transaction(self, act: Callable[[Connection], T]) -> T:
        """Do it in a transaction of its own, with the database there."""

        def once() -> T:
            with self.engine.begin() as connection:
                return act(connection)

        return await self.until_available(once)

    async def until_available(self, act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Do it with the database there, however long that takes, unless the worker is giving up."""
        return await self._retry(partial(act, *values, **named), while_it_is=is_transient)

    async def until_repaired(self, act: Callable[P, T], *values: P.args, **named: P.kwargs) -> T:
        """Do it also where a full disk or a missing right is in the way: somebody will see to that. Only values that
        are refused are not tried again."""
        return await self._retry(partial(act, *values, **named), while_it_is=_is_repairable)

    async def _retry(self, act: Callable[[], T], *, while_it_is: Callable[[SQLAlchemyError], bool]) -> T:
        pause = INITIAL_BACKOFF
        while True:
            try:
                return await self.in_thread(act)
            except SQLAlchemyError as error:
                if not while_it_is(error) or self.shutting_down():
                    raise
            await asyncio.sleep(pause * (0.5 + self.rng.random()))
            pause = min(pause * 2, MAX_BACKOFF)


def _is_repairable(error: SQLAlchemyError) -> bool:
    return is_transient(error) or (isinstance(error, DBAPIError) and not is_row_error(error))
