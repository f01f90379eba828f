"""What happens to the product. Each nemesis strikes `times` times, scattered by a seeded dice, and then leaves.

A nemesis never asks the product how it is; it counts its own strikes. `stop` ends it early.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Protocol

import psycopg

from tests.chaos.storm.fleet import Fleet, hurt, wake_after
from tests.chaos.storm.ground import Scene

CLOCK_SHARE = 0.05
LONGEST_AWAY = 4.0
LOOK = 0.005


class Nemesis(Protocol):
    """Strikes once; False when there was nothing to strike at the moment."""

    def __call__(self) -> bool: ...


@dataclass
class Storm:
    """Several nemeses at once, each with its name, its number of strikes and its pace (seconds between two)."""

    seed: int
    struck: dict[str, int] = field(default_factory=dict)
    stop: Event = field(default_factory=Event)
    _threads: list[Thread] = field(default_factory=list)

    def let_loose(self, name: str, nemesis: Nemesis, *, times: int, pace: tuple[float, float]) -> None:
        self.struck[name] = 0
        thread = Thread(target=self._strike_on, args=(name, nemesis, times, pace), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def blow_over(self, *, seconds: float) -> bool:
        """Wait until every nemesis has struck as often as it should; False when time ran out (they stop then)."""
        ends = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, ends - time.monotonic()))
        over = not any(thread.is_alive() for thread in self._threads)
        self.stop.set()
        for thread in self._threads:
            thread.join()
        return over

    def _strike_on(self, name: str, nemesis: Nemesis, times: int, pace: tuple[float, float]) -> None:
        rng = Random(f"{self.seed} {name}")
        while self.struck[name] < times and not self.stop.wait(rng.uniform(*pace)):
            self.struck[name] += nemesis()


def killer(fleet: Fleet, *, rng: Random) -> Nemesis:
    """kill -9 to a random worker, now and then to the clock."""

    def kill() -> bool:
        clocks = fleet.clocks
        prey = clocks if clocks and rng.random() < CLOCK_SHARE else fleet.workers
        return bool(prey) and hurt(rng.choice(prey), how=signal.SIGKILL)

    return kill


def stopper(fleet: Fleet, *, rng: Random, sleep: float) -> Nemesis:
    """SIGSTOP to a random worker, wherever it is, and SIGCONT after `sleep` seconds: a zombie past its lease."""
    wake = wake_after(sleep)
    asleep: dict[int, float] = {}

    def stop() -> bool:
        prey = [pid for pid in fleet.workers if time.monotonic() - asleep.get(pid, -sleep) > sleep]
        if not prey:
            return False
        pid = rng.choice(prey)
        if not hurt(pid, how=signal.SIGSTOP):
            return False
        asleep[pid] = time.monotonic()
        wake(pid)
        return True

    return stop


def terminator(scene: Scene) -> Nemesis:
    """pg_terminate_backend on a random connection of the product."""
    query = """
        SELECT pg_terminate_backend(pid) AS struck
        FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'snoozer-%%'
        ORDER BY random()
        LIMIT 1
    """

    def terminate() -> bool:
        try:
            return any(row["struck"] for row in scene.ask(query))
        except psycopg.OperationalError:
            return False

    return terminate


def restarter(scene: Scene, *, rng: Random) -> Nemesis:
    """An immediate shutdown of Postgres, as a power cut would have it. It is back at once, or away for some seconds,
    or takes them for its recovery, which is the worst: its start lies long behind when it first answers."""

    def restart() -> bool:
        seconds = rng.uniform(0.0, LONGEST_AWAY)
        away, recovering = rng.choice(((0.0, 0.0), (seconds, 0.0), (0.0, seconds)))
        os.kill(scene.server.pid, signal.SIGQUIT)
        while scene.server.is_running():
            time.sleep(LOOK)
        time.sleep(away)
        starting = Thread(target=scene.server.start, name="postgres")
        starting.start()
        if recovering:
            _hold_up_recovery(scene.server.data, seconds=recovering, while_alive=starting)
        starting.join()
        return True

    return restart


def _hold_up_recovery(data: Path, *, seconds: float, while_alive: Thread) -> None:
    while while_alive.is_alive():
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (process / "cwd").readlink() != data or b"startup" not in (process / "cmdline").read_bytes():
                    continue
                if hurt(int(process.name), how=signal.SIGSTOP):
                    time.sleep(seconds)
                    hurt(int(process.name), how=signal.SIGCONT)
                return
        time.sleep(LOOK)


def failpoints(
    steps: Sequence[str], *, act: str, rng: Random, nth: int, left: Callable[[], bool]
) -> Callable[[], dict[str, str]]:
    """A fleet's dress: each new worker meets one of these at its 1st to `nth` passage, while any are left."""

    def dress() -> dict[str, str]:
        if not left():
            return {}
        return {
            "SNOOZER_FAILPOINTS": "1",
            "SNOOZER_FAILPOINT": f"{rng.choice(steps)}:{act}:{rng.randint(1, nth)}",
        }

    return dress
