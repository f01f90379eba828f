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
from tests.chaos.storm.ground import ROLE, Scene

CLOCK_SHARE, NEWBORN_SHARE = 0.05, 0.1
MAILS_A_KILL, MAILS_A_SESSION = 5, 1
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


def paced(scene: Scene, nemesis: Nemesis, *, mails: int) -> Nemesis:
    """It strikes when so many mails were accepted since its last strike, however slow the machine is. Otherwise workers
    would never get beyond their first claim, and what is measured would be how long the storm goes on."""
    accepted = 0

    def strike() -> bool:
        nonlocal accepted
        now = scene.sink.order()["accepted"]
        struck = now >= accepted + mails and nemesis()
        accepted = now if struck else accepted
        return struck

    return strike


def killer(scene: Scene, fleet: Fleet, *, rng: Random, mails: int = MAILS_A_KILL) -> Nemesis:
    """kill -9 to a worker that has claimed something, now and then to one that was just born, or to the clock; each
    after so many mails."""

    def kill() -> bool:
        dice = rng.random()
        if dice < CLOCK_SHARE:
            prey = fleet.clocks
        else:
            prey = fleet.workers if dice < CLOCK_SHARE + NEWBORN_SHARE else _at_work(scene, fleet)
        return bool(prey) and hurt(rng.choice(prey), how=signal.SIGKILL)

    return paced(scene, kill, mails=mails)


def _at_work(scene: Scene, fleet: Fleet) -> list[int]:
    """Workers of which the witness saw a claim."""
    seen = "SELECT DISTINCT split_part(worker, '-', -2) AS pid FROM storm_claims WHERE worker IS NOT NULL"
    try:
        pids = {int(row["pid"]) for row in scene.ask(seen)}
    except psycopg.OperationalError:
        return []
    return [pid for pid in fleet.workers if pid in pids]


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


def limiter(scene: Scene, *, rng: Random, seconds: float) -> Nemesis:
    """For so many seconds the product's role may have only a few connections, half of the times after it lost all."""
    terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"

    def limit() -> bool:
        with scene.outage():
            scene.ask(f"ALTER ROLE {ROLE} CONNECTION LIMIT {rng.randint(2, 12)}")
            if rng.random() < 0.5:
                scene.ask(terminate, ROLE)
            time.sleep(seconds)
            scene.ask(f"ALTER ROLE {ROLE} CONNECTION LIMIT -1")
        return True

    return limit


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

    return paced(scene, terminate, mails=MAILS_A_SESSION)


def locker(scene: Scene, *, rows: int, seconds: float) -> Nemesis:
    """An UPDATE over rows in the hands of workers, in a transaction that stays open for so many seconds."""
    update = """
        UPDATE email_snoozes SET updated_at = now()
        WHERE id IN (SELECT id FROM email_snoozes WHERE claimed_at IS NOT NULL LIMIT %s FOR UPDATE SKIP LOCKED)
    """

    def lock() -> bool:
        try:
            with psycopg.connect(scene.database_url, connect_timeout=5) as forgotten:
                found = forgotten.execute(update, [rows]).rowcount
                if found:
                    time.sleep(seconds)
                forgotten.rollback()
        except psycopg.OperationalError:
            return False
        return found > 0

    return lock


def restarter(scene: Scene, *, rng: Random) -> Nemesis:
    """An immediate shutdown of Postgres, as a power cut would have it. It is back at once, or away for some seconds,
    or takes them for its recovery, which is the worst: its start lies long behind when it first answers."""

    def restart() -> bool:
        seconds = rng.uniform(0.0, LONGEST_AWAY)
        away, recovering = rng.choice(((0.0, 0.0), (seconds, 0.0), (0.0, seconds)))
        with scene.outage():
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
