"""Call functions in a child process that limits the CPU time of each call, and memory.

A call into C on hostile input may never return, and no Python signal handler runs until it does, so only the kernel can
end it.
"""

import math
import os
import pickle
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")

# The child imports what this process would.
_PROGRAM = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from snoozer.runtime.limited_process import serve; serve()"
)


class LimitExceeded(Exception):
    """The call took more than its limits, and was ended."""


class LimitedProcess:
    """A child, started at the first call, and another one after a call that had to be ended. Functions and their values
    must be picklable. Use it as a context manager: the child ends with the block, or with this process."""

    def __init__(self, *, cpu_seconds: int, max_bytes: int) -> None:
        self._limits = cpu_seconds, max_bytes
        self._child: Popen[bytes] | None = None

    def __enter__(self) -> "LimitedProcess":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what the function returns. Raises LimitExceeded, also where the function raised."""
        try:
            if self._child is None:
                self._child = Popen([sys.executable, "-c", _PROGRAM], stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
                self._send(sys.path)
                self._send(self._limits)
            self._send((function, arguments))
            assert self._child.stdout is not None  # noqa: S101 - it is a pipe
            result: T = pickle.load(self._child.stdout)  # noqa: S301 - of our own code
        except (EOFError, OSError, pickle.UnpicklingError):
            self._end()
            raise LimitExceeded from None
        return result

    def _send(self, value: Any) -> None:
        assert self._child is not None  # noqa: S101 - `call` started it
        assert self._child.stdin is not None  # noqa: S101 - it is a pipe
        pickle.dump(value, self._child.stdin)
        self._child.stdin.flush()

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            # Its pipes are closed, and what was not sent yet is lost.
            with suppress(OSError):
                self._child.__exit__(None, None, None)
            self._child = None


def serve() -> None:
    """The child: answers calls until its parent has no more, or has ended."""
    # Ctrl-C is for the parent, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    calls, answers = sys.stdin.buffer, sys.stdout.buffer
    cpu_seconds, max_bytes = pickle.load(calls)  # noqa: S301 - of our own code
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, max_bytes)
    with suppress(EOFError):
        while True:
            function, arguments = pickle.load(calls)  # noqa: S301 - of our own code
            used = os.times()
            _limit(resource.RLIMIT_CPU, math.ceil(used.user + used.system) + cpu_seconds)
            pickle.dump(function(*arguments), answers)
            answers.flush()


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    # Not every system has every limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
