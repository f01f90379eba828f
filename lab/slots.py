"""A slot for one worker: if its process ends, it is started again, as by a supervisor; and it can be broken."""

import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lab.child import Child, Register
from snoozer.runtime.signals import describe_exit

RESTART_SECONDS = 0.5

Kind = Literal["snoozer", "naive"]
State = Literal["running", "frozen", "ended", "stopped"]


@dataclass(frozen=True, kw_only=True)
class SlotView:
    """The page's view of a slot."""

    name: str
    kind: Kind
    pid: int | None
    state: State
    dies_at: str | None
    clock: str
    ends: int


class Slot:
    """One worker. `on_news` is called with a sentence if its process ended by itself."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        register: Register,
        on_news: Callable[[str], None],
    ) -> None:
        self.name, self.kind = name, kind
        self._argv, self._env, self._register, self._on_news = tuple(argv), dict(env), register, on_news
        self._lock = threading.RLock()
        self._child: Child | None = None
        self._frozen = self._stopped = False
        self._dies_at: str | None = None
        self._clock: Mapping[str, str] = {}
        self._ends = 0

    @property
    def view(self) -> SlotView:
        child = self._child
        runs = child is not None and child.is_running()
        state: State = "stopped" if self._stopped else "ended"
        if runs:
            state = "frozen" if self._frozen else "running"
        return SlotView(
            name=self.name,
            kind=self.kind,
            pid=child.pid if child is not None and runs else None,
            state=state,
            dies_at=self._dies_at,
            clock=self._clock.get("FAKETIME", ""),
            ends=self._ends,
        )

    @property
    def lines(self) -> list[str]:
        """The last lines that it wrote."""
        return list(self._child.lines) if self._child else []

    def start(self) -> None:
        """Start a process if none runs."""
        with self._lock:
            self._stopped = False
            if self._child is not None and self._child.is_running():
                return
            self._frozen = False
            env = {**self._env, **self._clock}
            self._child = Child(self._argv, env=env, register=self._register, on_exit=self._ended)
            if self._dies_at:
                self._child.order(die_at=self._dies_at)

    def kill(self) -> bool:
        """kill -9; the worker is started again as after any other end."""
        return self._signal(signal.SIGKILL)

    def freeze(self) -> bool:
        """Stop it where it is, in the middle of its work."""
        self._frozen = self._signal(signal.SIGSTOP)
        return self._frozen

    def thaw(self) -> bool:
        """Let it go on as if nothing had happened."""
        self._frozen = False
        return self._signal(signal.SIGCONT)

    def die_at(self, step: str | None) -> None:
        """Have it die when it passes this step next."""
        with self._lock:
            self._dies_at = step
            if self._child is not None:
                self._child.order(die_at=step)

    def set_clock(self, clock: Mapping[str, str]) -> None:
        """Start it again with another wall clock."""
        with self._lock:
            self._clock = dict(clock)
            self._signal(signal.SIGKILL)

    def begin_stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._child is not None:
                self._child.begin_stop()

    def finish_stop(self, seconds: float) -> None:
        if self._child is not None:
            self._child.finish_stop(seconds)

    def _signal(self, what: signal.Signals) -> bool:
        child = self._child
        if child is None or not child.is_running():
            return False
        child.signal(what)
        return True

    def _ended(self, code: int) -> None:
        """Called in a thread when its process ended by itself."""
        died_there, self._dies_at = self._dies_at, None
        self._ends += 1
        where = f" at its step “{died_there}”" if died_there and code < 0 else ""
        self._on_news(f"{self.name} {describe_exit(code)}{where}")
        time.sleep(RESTART_SECONDS)
        with self._lock:
            if not self._stopped:
                self.start()
