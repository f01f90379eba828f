"""Generated archives, mails and requests that are made to harm: each costs the web process little CPU and memory, and
other people get their pages at the same time.

SNOOZER_STORM=1 makes them a thousand, and measures how long the others wait; else they are a sample.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from sqlalchemy import Engine

from tests.factories import People, a_kept_message
from tests.seeded_archives import an_archive
from tests.seeded_mails import a_mail
from tests.seeded_requests import a_request
from tests.web.live_site import LiveSite, live_site
from tests.web.live_visits import Visitor

FULL = os.environ.get("SNOOZER_STORM") == "1"
EACH = 334 if FULL else 12
# A sample may run on a slow machine.
CPU_SECONDS = 1.0 if FULL else 2.0
MEMORY_KB = 200 * 1024
# The limit for the pages of other people.
P95_SECONDS = 0.5
PAUSE_SECONDS = 0.1

pytestmark = pytest.mark.timeout(3_600)


@pytest.fixture(scope="module")
def site(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    """The quotas are judged elsewhere."""
    names = ("UPLOAD_BYTES_PER_DAY", "EXPORTS_PER_HOUR", "IMPORTED_SNOOZES_PER_DAY", "REQUESTS_PER_MINUTE")
    unlimited = {f"SNOOZER_LIMIT_{name}": "0" for name in names}
    with live_site(postgres_url, tmp_path_factory.mktemp("seeds"), **unlimited) as site:
        yield site


class Costs:
    """The cost of each seed in the web process, and how long other people waited."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.kilobytes: dict[str, int] = {}
        self.waits: list[float] = []

    def add(self, name: str, seconds: float, kilobytes: int) -> None:
        self.seconds[name], self.kilobytes[name] = seconds, kilobytes

    def judge(self) -> None:
        slowest, largest = (max(each, key=each.__getitem__) for each in (self.seconds, self.kilobytes))
        waits = sorted(self.waits)
        p95 = waits[int(len(waits) * 0.95)]
        print(
            f"\n{len(self.seconds)} seeds: {self.seconds[slowest]:.2f} s of CPU ({slowest}), "
            f"{self.kilobytes[largest] / 1024:.0f} MB ({largest}); "
            f"{len(waits)} pages of others: p50 {waits[len(waits) // 2]:.3f} s, p95 {p95:.3f} s, "
            f"worst {waits[-1]:.3f} s"
        )
        assert {name: cost for name, cost in self.seconds.items() if cost > CPU_SECONDS} == {}
        assert {name: cost for name, cost in self.kilobytes.items() if cost > MEMORY_KB} == {}
        assert not FULL or p95 <= P95_SECONDS


@contextmanager
def others(site: LiveSite, people: People) -> Iterator[Costs]:
    """Bob asks for his mailbox again and again, and each time gets it."""
    bob = Visitor(site, people.ann("bob@snoozer.example").session)
    costs, over = Costs(), Event()
    # The first page of a process is slow.
    statuses = {bob.get("/mailbox")[0]}

    def ask() -> None:
        while not over.is_set():
            begin = time.monotonic()
            statuses.add(bob.get("/mailbox")[0])
            costs.waits.append(time.monotonic() - begin)
            over.wait(PAUSE_SECONDS)

    thread = Thread(target=ask)
    thread.start()
    try:
        yield costs
    finally:
        over.set()
        thread.join()
    assert statuses == {200}


def test_no_archive_costs_much(site: LiveSite, people: People) -> None:
    ann = Visitor(site, people.ann().session)
    with others(site, people) as costs:
        for seed in range(EACH):
            body, cookie = ann.upload_body("/settings/data", "file", an_archive(seed))
            (status, page), seconds, kilobytes = site.cost(lambda: ann.post("/settings/data/import", body, cookie))  # noqa: B023
            assert status in {303, 413, 422}, (seed, page)
            costs.add(f"archive {seed}", seconds, kilobytes)
    costs.judge()


def test_no_mail_costs_much(site: LiveSite, people: People, engine: Engine) -> None:
    """The message is added, shown as text and as a page, and its first files are saved; each by itself."""
    ann = Visitor(site, people.ann().session)
    with others(site, people) as costs:
        for seed in range(EACH):
            body, cookie = ann.upload_body("/add", "message", a_mail(seed))
            (status, page), seconds, kilobytes = site.cost(lambda: ann.post("/add/file", body, cookie))  # noqa: B023
            assert status == 303, (seed, page)
            costs.add(f"mail {seed}: add", seconds, kilobytes)
            found = re.search(r"^location: (\S+)", page, re.MULTILINE | re.IGNORECASE)
            assert found is not None
            for path in ("", "?view=html", "/html", "/parts/i0", "/parts/i1", "/original", "/snooze"):
                (status, page), seconds, kilobytes = site.cost(lambda: ann.get(f"{found[1]}{path}"))  # noqa: B023
                assert status in {200, 404}, (seed, path, page)
                costs.add(f"mail {seed}: {path or 'show'}", seconds, kilobytes)
    costs.judge()


def test_no_request_costs_much(site: LiveSite, people: People, engine: Engine) -> None:
    a_kept_message(engine)
    with others(site, people) as costs:
        for seed in range(EACH):
            response, seconds, kilobytes = site.cost(lambda: site.send(a_request(seed)))  # noqa: B023
            assert re.match(r"HTTP/1\.[01] ([234]\d\d|501) ", response), (seed, response[:300])
            costs.add(f"request {seed}", seconds, kilobytes)
    costs.judge()
