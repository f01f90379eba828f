"""An event loop for one test, in a thread of its own: the browser's driver may hold one in pytest's thread."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def run(conversation: Coroutine[Any, Any, T]) -> T:
    """What it answers, or raises."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, conversation).result()


def on_a_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Let pytest call what must run on an event loop."""

    @wraps(test)
    def call(*args: P.args, **named: P.kwargs) -> None:
        run(test(*args, **named))

    return call
