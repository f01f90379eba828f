"""Requests are counted by all web processes of a gunicorn together: every scrape has all of them."""

import os
import re
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine

from snoozer.telemetry import request_counts
from snoozer.telemetry.request_counts import RequestCounts, Shared
from tests.factories import a_snooze
from tests.web.live_site import LiveSite, live_site

REQUESTS, ROUND, SCRAPES = 300, 50, 6
COUNT = re.compile(r"^http_server_request_duration_seconds_count\{(.*)\} (\S+)$", re.M)
TIMEOUT = 60


def counts(site: LiveSite) -> dict[str, float]:
    """What a scrape shows, by labels."""
    _, page = site.request("/metrics")
    return {labels: float(value) for labels, value in COUNT.findall(page)}


def folder_of(site: LiveSite) -> Path:
    [folder] = request_counts.MEMORY.glob(f"{request_counts.PREFIX}{site.pid}-*")
    return folder


def children(site: LiveSite) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{site.pid}/task/{site.pid}/children").read_text().split()]


def wait_for_new_processes(site: LiveSite, old: Sequence[int]) -> None:
    ends = time.monotonic() + TIMEOUT
    while not set(old).isdisjoint(children(site)) or len(children(site)) != len(old) or files(site) & set(old):
        assert time.monotonic() < ends, "a process was not replaced"
        time.sleep(0.02)


def files(site: LiveSite) -> set[int]:
    """The processes that have a file."""
    names = (path.stem.removeprefix("histogram_") for path in folder_of(site).glob("*.db"))
    return {int(name) for name in names if name.isdigit()}


def test_three_processes_count_three_hundred_requests_at_every_scrape(
    postgres_url: str, tmp_path: Path, engine: Engine
) -> None:
    """Also once they have been killed and replaced."""
    a_snooze(engine)
    expected = 'http_request_method="GET",http_response_status_code="200",http_route="/sign-in"'
    with live_site(postgres_url, tmp_path, options=["--workers", "3"]) as site:
        assert site.request("/healthz")[0] == 200
        folder = folder_of(site)
        for done in range(ROUND, REQUESTS + 1, ROUND):
            with ThreadPoolExecutor(8) as clients:
                assert set(clients.map(lambda _: site.request("/sign-in")[0], range(ROUND))) == {200}
            assert [counts(site) for _ in range(SCRAPES)] == [{expected: done}] * SCRAPES
        served = children(site)
        assert len(files(site)) == len(served) == 3
        for number, pid in zip((signal.SIGKILL, signal.SIGTERM, signal.SIGABRT), served, strict=True):
            os.kill(pid, number)
        wait_for_new_processes(site, served)
        assert counts(site) == {expected: REQUESTS}
        assert site.request("/nowhere")[0] == 404
        site.request("/sign-in", method="BREW")
        assert counts(site) == {
            expected: REQUESTS,
            'http_request_method="GET",http_response_status_code="404",http_route="(no route)"': 1,
            'http_request_method="_OTHER",http_response_status_code="405",http_route="(no route)"': 1,
        }
        pages = [site.request("/metrics")[1] for _ in range(SCRAPES)]
        assert {line for page in pages for line in page.splitlines() if line.startswith("queue_depth")} == {
            "queue_depth 1.0"
        }
        assert not [line for line in pages[0].splitlines() if line.startswith(("process_", "python_"))]
    assert not folder.exists()


def test_a_folder_that_a_killed_gunicorn_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_counts, "MEMORY", tmp_path)
    ended = tmp_path / f"{request_counts.PREFIX}{2**22 + 1}-abc"
    lives = tmp_path / f"{request_counts.PREFIX}{os.getpid()}-abc"
    for folder in (ended, lives):
        folder.mkdir()
    made = Shared().make(uid=os.geteuid(), gid=os.getegid())
    assert (ended.exists(), lives.exists(), made.stat().st_mode & 0o777) == (False, True, 0o700)


def test_what_ended_processes_counted_is_added_up(tmp_path: Path) -> None:
    shared = Shared()
    shared.folder = tmp_path
    for _ in range(2):
        with closing(RequestCounts(tmp_path)) as counter:
            for seconds in (0.001, 0.3, 99.0):
                counter.add(method="GET", route="/", status="200", seconds=seconds)
        shared.absorb(os.getpid())
        assert [path.name for path in tmp_path.glob("*.db")] == ["histogram_ended.db"]
    shared.absorb(4711)
    with closing(RequestCounts(tmp_path)) as counter:
        [metric] = counter.collect()
    values = {(sample.name, sample.labels.get("le")): sample.value for sample in metric.samples}
    buckets = [values[f"{request_counts.NAME}_bucket", bound] for bound in ("0.005", "0.5", "10.0", "+Inf")]
    assert (buckets, values[f"{request_counts.NAME}_count", None]) == ([2, 4, 4, 6], 6)
    assert values[f"{request_counts.NAME}_sum", None] == pytest.approx(198.602)
