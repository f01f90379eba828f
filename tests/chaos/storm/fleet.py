"""The product's processes under fire: workers and a clock that are born anew as often as they die."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Condition, Lock, Thread, Timer
from typing import Any

from tests.chaos.storm.history import History
from tests.process.conftest import ROOT

AGAIN = 0.2
DECLARED_DEAD = 1
TIMEOUT = 60.0

Dress = Callable[[], Mapping[str, str]]
Ear = Callable[[dict[str, Any]], None]


def plain() -> Mapping[str, str]:
    """An incarnation without a failpoint."""
    return {}


class Maternity:
    """The zygote's process, for everybody in this session: orders births, and passes on what becomes of each child."""

    def __init__(self) -> None:
        self._ears: dict[int, Ear] = {}
        self._orders = itertools.count()
        self._lock = Lock()
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.storm.zygote"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._listener = Thread(target=self._listen, name="maternity", daemon=True)
        self._listener.start()

    def bear(self, command: Sequence[str], *, environment: Mapping[str, str], log: Path, ear: Ear) -> None:
        """Order `snoozer COMMAND`; `ear` hears that it started, was stopped, and ended."""
        assert self._zygote.stdin is not None
        with self._lock:
            order = next(self._orders)
            self._ears[order] = ear
            request = {"order": order, "start": command, "env": dict(environment), "log": str(log)}
            self._zygote.stdin.write(json.dumps(request).encode() + b"\n")
            self._zygote.stdin.flush()

    def close(self) -> None:
        """Nothing of it is left."""
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        self._zygote.stdin.close()
        self._zygote.wait(TIMEOUT)
        self._listener.join(TIMEOUT)
        self._zygote.stdout.close()

    def _listen(self) -> None:
        assert self._zygote.stdout is not None
        for line in self._zygote.stdout:
            event = json.loads(line)
            with self._lock:
                ear = self._ears.pop(event["order"]) if "ended" in event else self._ears[event["order"]]
            ear(event)


class Fleet:
    """`workers` slots, one clock and a slot for each of the `others`, each filled again when its process ends.

    `dress` gives each new worker its own settings, such as a failpoint. `ended` counts how workers ended, by exit code
    (negative: the signal), `stopped` how often one was stopped by SIGSTOP, and `on_stopped` hears its process id.
    """

    def __init__(
        self,
        maternity: Maternity,
        *,
        environment: Mapping[str, str],
        log: Path,
        history: History,
        workers: int = 4,
        arguments: Sequence[str] = ("--batch", "8", "--concurrency", "4"),
        others: Sequence[Sequence[str]] = (),
        dress: Dress = plain,
    ) -> None:
        self.dress = dress
        self.ended: Counter[int] = Counter()
        self.stopped = 0
        self.on_stopped: Callable[[int], None] = lambda pid: None
        self._environment, self._log, self._history = environment, log, history
        self._commands = [("worker", *arguments)] * workers + [("clock",), *others]
        self._maternity = maternity
        self._slots: dict[int, int] = {}  # by slot: its process
        self._closing = False
        self._changed = Condition()

    def start(self) -> None:
        """All slots are filled; returns when every process has been born."""
        for slot in range(len(self._commands)):
            self._fill(slot)
        self.wait_until(lambda: len(self._slots) == len(self._commands))

    @property
    def processes(self) -> dict[int, int]:
        """Every process that lives now, by its slot."""
        with self._changed:
            return dict(self._slots)

    @property
    def workers(self) -> list[int]:
        """The process ids of the workers that live now."""
        with self._changed:
            return [pid for slot, pid in self._slots.items() if self._commands[slot][0] == "worker"]

    @property
    def clocks(self) -> list[int]:
        with self._changed:
            return [pid for slot, pid in self._slots.items() if self._commands[slot][0] == "clock"]

    def wait_until(self, come: Callable[[], bool], *, seconds: float = TIMEOUT) -> bool:
        """Wait for something that a birth, a stop or an end brings about; False when it did not come in time."""
        with self._changed:
            return self._changed.wait_for(come, timeout=seconds)

    def retire(self) -> Counter[int]:
        """Wake the stopped, stop all by SIGTERM, wait for them; returns their exit codes (workers killed here: -9)."""
        with self._changed:
            self._closing = True
            before = self.ended.copy()
            pids = list(self._slots.values())
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
                os.kill(pid, signal.SIGCONT)
        self.wait_until(lambda: not self._slots)
        return self.ended - before

    def close(self) -> None:
        """Nothing of it is left."""
        with self._changed:
            self._closing = True
            for pid in self._slots.values():
                hurt(pid, how=signal.SIGKILL)
        assert self.wait_until(lambda: not self._slots)

    def _fill(self, slot: int) -> None:
        command = self._commands[slot]
        with self._changed:
            if self._closing:
                return
            own = self.dress() if command[0] == "worker" else {}
            self._maternity.bear(
                command, environment={**self._environment, **own}, log=self._log, ear=partial(self._hear, slot)
            )

    def _hear(self, slot: int, event: dict[str, Any]) -> None:
        with self._changed:
            if "started" in event:
                self._slots[slot] = event["started"]
                if self._closing:
                    # Born while all were being stopped: it is stopped as well.
                    hurt(event["started"], how=signal.SIGTERM)
            elif "stopped" in event:
                self.stopped += 1
                self._history.write("stopped", pid=self._slots[slot])
                self.on_stopped(self._slots[slot])
            else:
                self._bury(slot, code=event["ended"], at=event["at"])
            self._changed.notify_all()

    def _bury(self, slot: int, *, code: int, at: float) -> None:
        pid = self._slots.pop(slot)
        if self._commands[slot][0] == "worker":
            self.ended[code] += 1
        if self._closing:
            return
        if code == -signal.SIGKILL:
            self._history.write("killed", pid=pid, at=at)
        if code in (-signal.SIGKILL, DECLARED_DEAD):
            self._fill(slot)
        else:
            # It found no database, say: a supervisor would not spin either.
            again = Timer(AGAIN, self._fill, [slot])
            again.daemon = True
            again.start()


def hurt(pid: int, *, how: signal.Signals) -> bool:
    """Send a signal; False when the process was gone already."""
    try:
        os.kill(pid, how)
    except ProcessLookupError:
        return False
    return True


def wake_after(seconds: float) -> Callable[[int], None]:
    """What a stopped process may hear: it is woken after so many seconds."""

    def wake(pid: int) -> None:
        timer = Timer(seconds, hurt, [pid], {"how": signal.SIGCONT})
        timer.daemon = True
        timer.start()

    return wake


def until(come: Callable[[], bool], *, seconds: float, look: float = 0.05) -> bool:
    """Wait for something outside that cannot announce itself; False when it did not come in time."""
    ends = time.monotonic() + seconds
    while not come():
        if time.monotonic() > ends:
            return False
        time.sleep(look)
    return True
