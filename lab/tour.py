"""The guided tour: nine steps, each a deliberate fault, explained while it happens. Each step can be played again."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from sqlalchemy.exc import SQLAlchemyError

from lab.instance import Lab
from lab.scenes import SCENES, Ended, Scene

State = Literal["idle", "running", "done", "failed"]


@dataclass(frozen=True, kw_only=True)
class StepView:
    """A step as the page shows it; `lines` explain it, and at the end tell its result."""

    name: str
    number: int
    title: str
    question: str
    guard: str
    file: str
    test: str
    state: State
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TourView:
    """`steps` in their order; `current` is the name of the step that runs or ran last."""

    steps: tuple[StepView, ...] = ()
    current: str | None = None
    is_running: bool = False

    @property
    def step(self) -> StepView | None:
        return next((step for step in self.steps if step.name == self.current), None)


@dataclass
class _Step:
    scene: Scene
    state: State = "idle"
    lines: list[str] = field(default_factory=list)


# After a step that is followed by another one: its last lines have to be read.
READING_SECONDS = 5.0


class Tour:
    """Plays one step at a time, in a thread."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._steps = {scene.name: _Step(scene) for scene in SCENES}
        self._current: str | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._is_running = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._steps)

    @property
    def view(self) -> TourView:
        steps = tuple(
            StepView(
                name=name,
                number=number,
                title=step.scene.title,
                question=step.scene.question,
                guard=step.scene.guard,
                file=step.scene.file,
                test=step.scene.test,
                state=step.state,
                lines=tuple(step.lines),
            )
            for number, (name, step) in enumerate(self._steps.items(), start=1)
        )
        return TourView(steps=steps, current=self._current, is_running=self._is_running)

    def play(self, *names: str) -> bool:
        """Play these steps, one after the other. Returns False if one plays already."""
        with self._lock:
            if self._is_running:
                return False
            self._is_running = True
            self._ended.clear()
            self._current = names[0]
        self._lab.in_background(lambda: self._play(names))
        return True

    def end(self) -> None:
        """End the step that plays, and put everything right."""
        self._ended.set()

    def _play(self, names: tuple[str, ...]) -> None:
        try:
            for name in names:
                if name != names[0] and self._ended.wait(READING_SECONDS):
                    return
                if self._lab.stopping.is_set() or self._ended.is_set():
                    return
                self._current = name
                self._play_one(self._steps[name])
        finally:
            self._is_running = False

    def _play_one(self, step: _Step) -> None:
        step.state, step.lines = "running", []
        lab = self._lab
        stage = Stage(lab, tell=step.lines.append, ended=self._ended)
        try:
            lab.heal()
            step.state = "done" if step.scene.play(stage) else "failed"
        except Ended:
            step.state = "idle"
        except (SQLAlchemyError, OSError) as error:
            step.lines.append(f"It broke off ({type(error).__name__}); play it again.")
            step.state = "failed"
        finally:
            if not lab.stopping.is_set():
                lab.heal()


class Stage:
    """The tools of a scene: act and wait."""

    def __init__(self, lab: Lab, *, tell: Callable[[str], None], ended: threading.Event) -> None:
        self.lab, self.tell, self._ended = lab, tell, ended

    def until(self, come: Callable[[], bool], *, seconds: float) -> bool:
        """Wait for a condition; False if it did not come true in time. Raises Ended if the tour was ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if come():
                    return True
            except SQLAlchemyError:
                # The database is away, perhaps on purpose.
                pass
            if self._ended.is_set() or self.lab.stopping.wait(0.15):
                raise Ended
        return False
