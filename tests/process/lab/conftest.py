"""A lab as a person starts it, and its page in Chromium."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
from playwright.sync_api import Browser, Page

from tests.conftest import HANG_MILLISECONDS
from tests.process.conftest import ROOT, TIMEOUT

WHOLE = os.environ.get("SNOOZER_STORM") == "1"


@dataclass
class RunningLab:
    """`home` is the folder that it deletes at the end."""

    process: "subprocess.Popen[str]"
    url: str
    home: Path

    def verdict(self, side: str = "snoozer") -> dict[str, Any]:
        """What the judge says now."""
        with urllib.request.urlopen(f"{self.url}/lab/verdict.json", timeout=TIMEOUT) as response:  # noqa: S310
            found: dict[str, Any] = json.load(response)[side]
        return found

    def facts(self) -> list[dict[str, Any]]:
        """What the mail server wrote down."""
        return [json.loads(line) for line in (self.home / "accepted.jsonl").read_text().splitlines()]

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Ask its database, without the product."""
        state = json.loads((self.home / "postgres.json").read_text())
        url = f"postgresql://snoozer:{state['password']}@127.0.0.1:{state['port']}/postgres"
        with psycopg.connect(url, connect_timeout=10) as connection:
            return connection.execute(query.encode()).fetchall()

    def processes(self) -> set[int]:
        """All that belong to it, by their environment or their arguments."""
        found = set()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                known = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.home).encode() in known:
                found.add(int(folder.name))
        return found

    def press(self, path: str, **fields: str) -> str:
        """Press a button, by the token of a page; returns what it says."""
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with opener.open(f"{self.url}/lab", timeout=TIMEOUT) as page:
            token = re.search(r'name="csrf_token" value="([^"]+)"', page.read().decode())
        assert token is not None
        data = urlencode({"csrf_token": token[1], **fields}).encode()
        headers = {"Accept": "application/json"}
        request = urllib.request.Request(f"{self.url}/lab/{path}", data=data, headers=headers)  # noqa: S310
        with opener.open(request, timeout=TIMEOUT) as answer:
            return str(json.load(answer)["happened"])

    def stop(self) -> str:
        """Ctrl-C; returns what it wrote."""
        self.process.send_signal(signal.SIGINT)
        output, _ = self.process.communicate(timeout=TIMEOUT)
        return output


def clean_environment(**settings: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SNOOZER_", "DATABASE_"))}
    return inherited | settings


@contextmanager
def a_lab(tmp_path: Path) -> Iterator[RunningLab]:
    """`make lab`, until the test is over."""
    # A default home of `snoozer up` would be the checkout's.
    env = clean_environment(SNOOZER_HOME=str(tmp_path / "home"))
    process = subprocess.Popen(
        [sys.executable, "-m", "lab", "--no-open"],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    output, url, home = [], "", ""
    for line in process.stdout:
        output.append(line)
        if found := re.search(r"open at (http://\S+)/lab", line):
            url = found[1]
        if found := re.search(r"deleted at the end: (\S+)", line):
            home = found[1]
            break
    try:
        assert url, "".join(output)
        yield RunningLab(process, url, Path(home))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        if not process.stdout.closed:
            process.communicate(timeout=TIMEOUT)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[RunningLab]:
    with a_lab(tmp_path) as running:
        yield running


@pytest.fixture
def another_lab(tmp_path: Path) -> Iterator[RunningLab]:
    with a_lab(tmp_path) as running:
        yield running


Open = Callable[..., Page]


@pytest.fixture
def open_page(chromium: Browser, lab: RunningLab) -> Iterator[Open]:
    """Opens the page; an error in its console fails the test."""
    errors: list[str] = []
    contexts = []

    def open_it(path: str = "/lab", *, width: int = 1440, **options: Any) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(HANG_MILLISECONDS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.goto(f"{lab.url}{path}")
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert errors == []


def until(come: Callable[[], bool], *, seconds: float = TIMEOUT) -> None:
    """Wait for something outside that cannot announce itself."""
    end = time.monotonic() + seconds
    while not _has_come(come):
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.2)


def _has_come(come: Callable[[], bool]) -> bool:
    try:
        return come()
    except urllib.error.HTTPError as error:
        # Its database is away, on purpose.
        with error:
            assert error.code == 503
        return False
