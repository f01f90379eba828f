"""The newcomer's clock: installs Snoozer in each way that the documentation names, on a machine with nothing of ours,
by the commands that it prints, and measures the time until the first reminder is back.

`make newcomer`, or for some ways `make newcomer ARGS="wheel units"`. CONTRIBUTING.md says what it needs.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Error, Page, expect, sync_playwright

from tests.conftest import CHROMIUMS
from tests.process.newcomer import machines, network, person, places
from tests.process.newcomer.guide import MOST_COMMANDS, WAYS, Way
from tests.process.newcomer.places import Place

CACHE = Path("/var/tmp/snoozer-newcomer")
NEEDED = ("debootstrap", "systemd-nspawn", "ip", "iptables", "nsenter", "unshare", "git")
ENGINE = ("dockerd", "docker")
PAGE_MILLISECONDS = 20_000


@dataclass
class Run:
    """One way, as it went."""

    way: Way
    stood_in: Sequence[str]
    link_seconds: float = 0.0
    reminder_seconds: float = 0.0
    trouble: str = ""

    @property
    def is_good(self) -> bool:
        return not self.trouble and len(self.way.commands()) <= MOST_COMMANDS

    def __str__(self) -> str:
        figures = (len(self.way.commands()), round(self.link_seconds), round(self.reminder_seconds))
        first = f"{self.way.name:8}" + "".join(f"{figure:10}" for figure in figures)
        return "\n    ".join([first, *self.trouble.splitlines()[:1], *self.stood_in])


def measure(way: Way, place: Place, page: Page) -> Run:
    """Follow the documentation in a new place, and say how long it took."""
    with places.ready(way, place) as ready:
        run = Run(way, ready.stood_in)
        began = time.monotonic()
        ready.type(way)
        try:
            link = person.find_link(place.log, is_running=ready.is_running)
            run.link_seconds = time.monotonic() - began
            person.snooze(page, link)
            person.wait_for_the_reminder(page, ready.has_arrived)
            run.reminder_seconds = time.monotonic() - began
        except (person.NotBack, AssertionError, Error) as error:
            run.trouble = f"FAILED, see {place.log}: {error}"
    return run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make newcomer", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], help="all of them, if none is named")
    chosen = parser.parse_args().ways or list(WAYS)
    needed = [*NEEDED, *(ENGINE if {"image", "compose"} & set(chosen) else ())]
    missing = [name for name in needed if not shutil.which(name, path=machines.PATH)]
    browser = next((path for path in CHROMIUMS if Path(path).exists()), None)
    if os.geteuid() or missing or browser is None:
        print(f"This needs root, Chromium, and {', '.join(needed)}; missing: {', '.join(missing) or 'none of these'}.")
        return 2
    if not network.is_inside():
        return network.run_inside("tests.process.newcomer", sys.argv[1:])
    CACHE.mkdir(exist_ok=True)
    base = machines.debian(CACHE)
    expect.set_options(timeout=PAGE_MILLISECONDS)
    runs = []
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="run-") as work, sync_playwright() as playwright:
        released = machines.release(Path(work))
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name in chosen:
            page = chromium.new_context().new_page()
            place = Place(Path(work) / name, base, released, log=CACHE / f"{name}.log")
            print(f"{name} …", flush=True)
            runs.append(measure(WAYS[name], place, page))
            page.context.close()
        chromium.close()
    print("\nWay       Commands  Link (s)  Reminder (s); a minute of them asleep")
    print(*runs, sep="\n")
    return 0 if all(run.is_good for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
