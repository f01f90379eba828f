"""A process of the lab: started, given orders on its standard input, signalled, and ended."""

import json
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from subprocess import PIPE, STDOUT, Popen, TimeoutExpired
from typing import Any

from snoozer.dev.processes import CHILD, GONE, send
from snoozer.runtime.signals import describe_exit

KEPT_LINES = 60

Register = Callable[[str, int], None]


class Child:
    """One process. `on_exit` is called with its exit code, in a thread, if it ended without being stopped here."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        register: Register,
        on_exit: Callable[[int], None] = lambda code: None,
    ) -> None:
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self.started_at = time.monotonic()
        self._register, self._on_exit = register, on_exit
        self._stopping = False
        self._ready = threading.Event()
        self._lock = threading.Lock()
        # Start a new session, so that a Ctrl-C at the terminal reaches only the lab.
        self._process = Popen(argv, env=env, stdin=PIPE, stdout=PIPE, stderr=STDOUT, text=True, start_new_session=True)
        register(CHILD, self.pid)
        threading.Thread(target=self._listen, name=f"child {self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def is_running(self) -> bool:
        return self._process.poll() is None

    def order(self, **order: Any) -> None:
        """Send an order; a process that has ended gets none."""
        with self._lock, suppress(OSError, ValueError):
            assert self._process.stdin is not None  # noqa: S101
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()

    def signal(self, what: signal.Signals) -> None:
        if self.is_running():
            send(self.pid, what)

    def wait_until_ready(self, seconds: float) -> bool:
        """Wait for its first line of output, or its end. Returns whether it runs."""
        self._ready.wait(seconds)
        return self._ready.is_set() and self.is_running()

    def begin_stop(self) -> None:
        """Ask it to stop, even if frozen; its end is not reported then."""
        self._stopping = True
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)

    def finish_stop(self, seconds: float) -> None:
        """Wait for its end, and kill it if it does not end in time."""
        self._stopping = True
        try:
            self._process.wait(seconds)
        except TimeoutExpired:
            send(self.pid, signal.SIGKILL, group=True)
            self._process.wait()

    def kill(self) -> None:
        """End it at once; its end is not reported."""
        self._stopping = True
        self.signal(signal.SIGKILL)
        self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101
        with self._process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip())
                self._ready.set()
        code = self._process.wait()
        self._ready.set()
        self._register(GONE, self.pid)
        with self._lock, suppress(OSError):
            assert self._process.stdin is not None  # noqa: S101
            self._process.stdin.close()
        if not self._stopping:
            self.lines.append(describe_exit(code))
            self._on_exit(code)
