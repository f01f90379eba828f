"""One act: people put messages away, workers and a clock live and die, nemeses strike, and then the judge comes."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.chaos.storm.fleet import DECLARED_DEAD, Dress, Fleet, plain
from tests.chaos.storm.ground import Place, Scene
from tests.chaos.storm.judge import Verdict
from tests.chaos.storm.load import PLAIN, Mix
from tests.chaos.storm.nemeses import Storm
from tests.chaos.storm.report import Report
from tests.chaos.storm.timing import Bounds

MOST_CASES = 1000
NOT_YET_UP = -15  # stopped in its first moments, before it handles the signal
NO_DATABASE = 2  # it had found none, and a nemesis stopped it (SIGSTOP) on its way out: it ended only now
UNBOUNDED = Bounds()


@dataclass
class Act:
    scene: Scene
    fleet: Fleet
    storm: Storm
    rng: Random
    cases: int = 0
    _verdict: Verdict | None = field(default=None, init=False)

    @property
    def verdict(self) -> Verdict:
        """What the judge found, once the act is over."""
        assert self._verdict is not None
        return self._verdict

    def calm(self, *, timeout: float) -> bool:
        """The nemeses have struck as often as they should, the load ends, what is left is delivered."""
        over = self.storm.blow_over(seconds=timeout)
        self.scene.sink.order(heal=True)
        self.scene.load.stop()
        self.scene.people.stop()
        return self.scene.drained(seconds=timeout) and over

    def end(self, *, timeout: float) -> tuple[bool, Counter[int]]:
        """Calm; an operator sends the cases back to work; zombies wake, all are stopped. Then the judge."""
        over = self.calm(timeout=timeout)
        while over and self.cases < MOST_CASES and (found := self.scene.reactivate_cases()):
            self.cases += found
            over = self.scene.drained(seconds=timeout)
        codes = self.fleet.retire()
        self._verdict = self.scene.judged()
        self.scene.keep_evidence()
        return over, codes


@dataclass(frozen=True)
class Stage:
    """Where a test's act is played, and where its verdict is written down."""

    name: str
    ground: Place
    report: Report
    folder: Path
    seed: int
    timeout: float

    @contextmanager
    def act(
        self,
        *,
        workers: int = 4,
        arguments: Sequence[str] = ("--batch", "8", "--concurrency", "4"),
        others: Sequence[Sequence[str]] = (),
        settings: Mapping[str, str] | None = None,
        dress: Callable[[Fleet, Random], Dress] = lambda fleet, rng: plain,
        rate: float = 40.0,
        think: float = 0.02,
        mix: Mix = PLAIN,
        people_rate: float = 0.0,
        bounds: Bounds = UNBOUNDED,
    ) -> Iterator[Act]:
        """Everything runs inside the block; at its end the storm blows over, and the promise must have been kept."""
        began, rng = time.time(), Random(f"{self.seed} {self.name}")
        with self.ground.scene(
            self.folder, seed=self.seed, rate=rate, think=think, mix=mix, people_rate=people_rate
        ) as scene:
            fleet = scene.fleet(workers=workers, arguments=arguments, others=others, settings=settings or {})
            fleet.dress = dress(fleet, rng)
            act = Act(scene=scene, fleet=fleet, storm=Storm(self.seed), rng=rng)
            try:
                fleet.start()
                if rate:
                    scene.load.start()
                if people_rate:
                    scene.people.start()
                yield act
                over, codes = act.end(timeout=self.timeout)
            finally:
                fleet.close()
            exceeded = bounds.exceeded(silence=act.verdict.silence, kill_to_mail=act.verdict.recovery.mailed)
            self._write_down(act, seconds=time.time() - began, exceeded=exceeded)
            words = scene.log.read_text()[-4000:] if scene.log.exists() else ""
        assert over, f"snoozes are still waiting, or a nemesis is: {act.verdict}\n{words}"
        assert set(codes) <= {0, DECLARED_DEAD, NOT_YET_UP, NO_DATABASE}, f"{dict(codes)}\n{words}"
        assert act.verdict.keeps_the_promise, act.verdict
        assert act.verdict.cases == 0, act.verdict
        assert not exceeded, (exceeded, act.verdict)

    def _write_down(self, act: Act, *, seconds: float, exceeded: Sequence[str]) -> None:
        strikes = act.storm.struck | {
            "workers killed": act.fleet.ended[-9],
            "workers stopped": act.fleet.stopped,
            "cases sent back to work": act.cases,
        }
        self.report.add(self.name, strikes=strikes, verdict=act.verdict, seconds=seconds, exceeded=list(exceeded))
        print(self.name, strikes, act.verdict)
