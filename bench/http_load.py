"""Load on the pages while workers work: a web process, and a client that requests one page at a steady rate."""

import http.client
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

from bench.environment import Environment
from bench.report import BenchError
from snoozer.dev import ports
from snoozer.people import accounts, api_tokens
from snoozer.resources import PYTHON_MODULE

READER = "reader@snoozer.example"
PATH = "/api/v1/snoozes"
PRODUCT = "snoozer.web:from_environment()"
START_SECONDS = 120.0
POLL_SECONDS = 0.2
REQUEST_TIMEOUT = 30.0


@dataclass(frozen=True, kw_only=True)
class Site:
    """The address of the pages, and the API token that the client sends."""

    port: int
    token: str


@dataclass
class Responses:
    """Seconds for each page, measured from when its request was due, and the number of failed requests."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0


@contextmanager
def web_server(environment: Environment) -> Iterator[Site]:
    """Serve the product's pages on a free port of loopback, as `snoozer up` does, until the end of the block."""
    with served(environment, PRODUCT, token=reader(environment)) as site:
        yield site


def reader(environment: Environment) -> str:
    """Return the token of a new account, READER."""
    with environment.engine.begin() as connection:
        accounts.create(connection, email=READER)
        made = api_tokens.create(connection, email=READER)
    return made.secret if made else ""


@contextmanager
def served(
    environment: Environment, application: str, *, token: str, settings: Mapping[str, str] | None = None
) -> Iterator[Site]:
    """Serve an application, such as `module:function()`, in the same way as the product's pages."""
    port = ports.any_free()
    command = [*PYTHON_MODULE, "snoozer.web", "-c", "python:snoozer.web.gunicorn", "--bind", f"127.0.0.1:{port}"]
    server = subprocess.Popen(
        [*command, application],
        env={**environment.variables, **(settings or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=environment.home,
    )
    try:
        site = Site(port=port, token=token)
        _wait_until_served(site, server)
        yield site
    finally:
        server.terminate()
        server.wait()


@contextmanager
def requests(site: Site, *, rate: float) -> Iterator[Responses]:
    """Request the list of snoozes at a steady rate until the end of the block."""
    responses, stop = Responses(), Event()
    thread = Thread(target=_request_until, args=(stop, site, responses, 1 / rate), name="http-load", daemon=True)
    thread.start()
    try:
        yield responses
    finally:
        stop.set()
        thread.join()


def _request_until(stop: Event, site: Site, responses: Responses, interval: float) -> None:
    due = time.monotonic()
    while not stop.wait(max(0.0, due - time.monotonic())):
        if _request(site):
            responses.seconds.append(time.monotonic() - due)
        else:
            responses.failed += 1
        due += interval


def _request(site: Site) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=REQUEST_TIMEOUT)
    try:
        connection.request("GET", PATH, headers={"Authorization": f"Bearer {site.token}"})
        response = connection.getresponse()
        response.read()
    except OSError:
        return False
    finally:
        connection.close()
    return response.status == http.client.OK


def _wait_until_served(site: Site, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + START_SECONDS
    while not _request(site):
        if server.poll() is not None or time.monotonic() > end:
            raise BenchError("The pages were not served")
        time.sleep(POLL_SECONDS)
