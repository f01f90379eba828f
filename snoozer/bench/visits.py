"""The pages while workers work: a web process of its own, and somebody who reads at a steady pace."""

import http.client
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

from snoozer import accounts
from snoozer.bench.ground import Ground
from snoozer.bench.refusal import BenchRefused
from snoozer.dev import ports
from snoozer.resources import PYTHON_MODULE

READER = "reader@snoozer.example"
PATH = "/api/v1/snoozes"
START_SECONDS = 120.0
_LOOK = 0.2


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where the pages are served, and the token of the person who reads them."""

    port: int
    token: str


@dataclass
class Visits:
    """What a reader saw: seconds for each page, from the moment it was to be asked for, and how many failed."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0


@contextmanager
def site(ground: Ground) -> Iterator[Site]:
    """The product's pages on a free port of loopback, served as `snoozer up` does it, until the end of the block."""
    with ground.engine.begin() as connection:
        accounts.create(connection, email=READER)
        token = accounts.create_token(connection, email=READER) or ""
    port = ports.any_free()
    command = [*PYTHON_MODULE, "snoozer.web", "-c", "python:snoozer.web.gunicorn", "--bind", f"127.0.0.1:{port}"]
    command.append("snoozer.web:from_environment()")
    server = subprocess.Popen(
        command, env=ground.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ground.home
    )
    try:
        served = Site(port=port, token=token)
        _wait(served, server)
        yield served
    finally:
        server.terminate()
        server.wait()


@contextmanager
def reading(site: Site, *, rate: float) -> Iterator[Visits]:
    """Until the end of the block somebody asks for the list of snoozes, so many times a second."""
    visits, over = Visits(), Event()
    thread = Thread(target=_read_on, args=(site, visits, over, 1 / rate), name="reader", daemon=True)
    thread.start()
    try:
        yield visits
    finally:
        over.set()
        thread.join()


def _read_on(site: Site, visits: Visits, over: Event, pause: float) -> None:
    due = time.monotonic()
    while not over.wait(max(0.0, due - time.monotonic())):
        if _read(site):
            visits.seconds.append(time.monotonic() - due)
        else:
            visits.failed += 1
        due += pause


def _read(site: Site) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    try:
        connection.request("GET", PATH, headers={"Authorization": f"Bearer {site.token}"})
        response = connection.getresponse()
        response.read()
    except OSError:
        return False
    finally:
        connection.close()
    return response.status == http.client.OK


def _wait(site: Site, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_SECONDS
    while not _read(site):
        if server.poll() is not None or time.monotonic() > end:
            raise BenchRefused("The pages were not served")
        time.sleep(_LOOK)
