"""Remove each guard in turn, in a copy of the tree, and require a red test: `python -m tests.chaos.mutation.prove`."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.mutation.guard import Guard
from tests.chaos.mutation.guards import GUARDS

ROOT = Path(__file__).resolve().parents[3]
PARTS = ("snoozer", "bench", "fakes", "tests", "migrations", "templates", "static", "locale", "pyproject.toml")
AT_ONCE = 2
RED = 1
# A test that hangs without its guard has failed: pytest-timeout ends its process with 1.
TIMEOUT = ("--timeout=180", "--timeout-method=thread")


@contextmanager
def copy_of_the_tree() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="snoozer-mutant-") as name:
        copy = Path(name) / "tree"
        copy.mkdir()
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy2(source, copy / part)
        yield copy


def run_test(tree: Path, test: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TIMEOUT, test],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )


def is_caught(guard: Guard) -> tuple[Guard, bool, str]:
    """Without the guard the test fails; pytest's other exit codes mean that nothing was tested."""
    with copy_of_the_tree() as tree:
        guard.remove(tree)
        ran = run_test(tree, guard.test)
    return guard, ran.returncode == RED, ran.stdout[-2000:]


def main() -> int:
    tests = sorted({guard.test for guard in GUARDS})
    whole = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests], cwd=ROOT, check=False
    )
    if whole.returncode:
        print("The tests must be green with all guards in place.")
        return 1
    survived = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for guard, caught, output in pool.map(is_caught, GUARDS):
            survived += not caught
            verdict = "red" if caught else f"NOT CAUGHT\n{output}\n"
            print(f"{guard.name}: {verdict}", flush=True)
    print(f"{len(GUARDS) - survived} of {len(GUARDS)} guards are proven")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
