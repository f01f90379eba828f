"""A storm has a seed, a ground to blow over, and a report. SNOOZER_STORM=1 makes it a full one."""

import os
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from random import SystemRandom

import pytest

from snoozer.dev.processes import database_reaper
from tests.chaos.storm.ground import Ground
from tests.chaos.storm.replication import Pair, ReplicatedPlace
from tests.chaos.storm.report import Report
from tests.chaos.storm.stage import Stage
from tests.process.conftest import ROOT

FULL = os.environ.get("SNOOZER_STORM") == "1"
VERDICT = ROOT / "verdict.json"


@pytest.fixture(scope="session")
def seed() -> int:
    """SNOOZER_STORM_SEED repeats a storm's dice; the processes' own races are theirs."""
    return int(os.environ.get("SNOOZER_STORM_SEED") or SystemRandom().randrange(1_000_000))


@pytest.fixture(scope="session")
def report(seed: int) -> Iterator[Report]:
    """Filled by the scenes; a full storm leaves it in verdict.json."""
    report = Report(seed=seed, full=FULL)
    yield report
    if FULL:
        report.write(VERDICT)
        print(f"\n{report.summary()}\nwritten to {VERDICT}")


@pytest.fixture(scope="session")
def ground() -> Iterator[Ground]:
    ground = Ground()
    yield ground
    ground.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a scene keeps its evidence."""
    (tmp_path / "home").mkdir()
    return tmp_path


@pytest.fixture
def scene_name(request: pytest.FixtureRequest) -> str:
    """The test's name, as it stands in the report."""
    return str(request.node.name).removeprefix("test_")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A scene that kept the promise and yet missed what its test asks for shows that in the report, too."""
    outcome = yield
    report = item.funcargs.get("report")
    if outcome.when == "call" and isinstance(report, Report) and "scene_name" in item.funcargs:
        report.note(str(item.funcargs["scene_name"]), passed=outcome.passed)
    return outcome


@pytest.fixture
def stage(scene_name: str, ground: Ground, report: Report, folder: Path, seed: int) -> Stage:
    return Stage(
        name=scene_name,
        ground=ground,
        report=report,
        folder=folder,
        seed=seed,
        timeout=1800.0 if FULL else 120.0,
    )


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="snoozer-pair-") as name, database_reaper() as register:
        folder = Path(name)
        folder.chmod(0o711)
        pair = Pair(folder, on_launch=register)
        yield pair
        pair.stop()


@pytest.fixture
def synchronous(stage: Stage, ground: Ground, pair: Pair) -> Stage:
    """A stage on the pair, whose commits wait for the standby."""
    return replace(stage, ground=ReplicatedPlace(pair=pair, maternity=ground.maternity, synchronous=True))
