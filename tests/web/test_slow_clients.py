"""Clients that are slow, silent or stay: other people's pages come meanwhile, and each of them is cut off."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from time import sleep

import pytest
from sqlalchemy import Engine

from tests.factories import People, a_kept_message, an_original
from tests.web.live_site import CHECKOUT, LiveSite, live_site

CLIENTS = 60
LARGER_THAN_THE_BUFFERS = 20_000_000
HOST = "Host: snoozer.example\r\n"
HEAD = HOST.encode() + b"Content-Type: application/x-www-form-urlencoded\r\n"
BODY = b"POST /sign-in HTTP/1.1\r\n" + HEAD + b"Content-Length: 1000\r\n\r\nemail="
CHUNKS = b"POST /sign-in HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n"
PAGE = b"GET /sign-in HTTP/1.1\r\n" + HOST.encode()

# What each client sends first, and then again and again.
SLOW = {
    "silent": (b"", b""),
    "stalled head": (PAGE, b""),
    "dripping head": (PAGE + b"X: ", b"x"),
    "stalled body": (BODY, b""),
    "dripping body": (BODY, b"x"),
    "dripping chunks": (CHUNKS, b"x\r\n1\r\n"),
    "stays after its response": (PAGE + b"Connection: close\r\n\r\n", b""),
    "idle after its response": (PAGE + b"\r\n", b""),
    "half a second head": (PAGE + b"\r\n" + PAGE, b""),
}


@pytest.fixture(scope="module")
def site(migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSite]:
    options = ["--worker-class", "tests.web.short_deadlines.Worker", "--keep-alive", "1"]
    with live_site(postgres_url, tmp_path_factory.mktemp("slow"), options=options) as site:
        yield site


def read_to_the_end(client: socket.socket, drip: bytes) -> bytes:
    """Returns all that comes until the server hangs up, sending `drip` again and again meanwhile."""
    received = b""
    client.settimeout(0.1)
    for _ in range(600):
        try:
            piece = client.recv(65_536)
        except TimeoutError:
            with suppress(OSError):
                client.sendall(drip)
            continue
        except OSError:
            return received
        if not piece:
            return received
        received += piece
    pytest.fail("the server did not hang up")


@pytest.mark.parametrize("kind", SLOW)
def test_slow_clients_stop_no_page_and_are_cut_off(site: LiveSite, kind: str) -> None:
    start, drip = SLOW[kind]
    with ExitStack() as open_:
        clients = [open_.enter_context(site.connect()) for _ in range(CLIENTS)]
        for client in clients:
            client.sendall(start)
        for _ in range(20):
            assert site.request("/sign-in")[0] == 200
        for client in clients:
            read_to_the_end(client, drip)
        assert site.request("/sign-in")[0] == 200


def test_a_body_that_stalls_is_answered_with_the_reason(site: LiveSite) -> None:
    with site.connect() as client:
        client.sendall(BODY)
        response = read_to_the_end(client, b"")
    assert response.startswith(b"HTTP/1.1 408 ")
    assert b"Nothing was changed" in response


def test_a_program_whose_body_stalls_gets_problem_details(site: LiveSite) -> None:
    with site.connect() as client:
        client.sendall(BODY.replace(b"/sign-in", b"/api/v1/snoozes"))
        head, _, body = read_to_the_end(client, b"").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert b"content-type: application/problem+json" in head.lower()
    assert json.loads(body)["code"] == "too_slow"


def test_a_client_that_takes_nothing_of_its_response_is_cut_off(site: LiveSite, engine: Engine, people: People) -> None:
    id = a_kept_message(engine, original=an_original() + LARGER_THAN_THE_BUFFERS * b"x")
    cookie = f"Cookie: snoozer_session={people.ann().session}\r\n"
    with site.connect() as client:
        client.sendall(f"GET /mailbox/{id}/original HTTP/1.1\r\n{HOST}{cookie}\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 200"
        before = site.connections()
        for _ in range(300):
            if site.connections() < before:
                break
            sleep(0.1)
        with suppress(ConnectionError):
            assert sum(len(piece) for piece in iter(lambda: client.recv(65_536), b"")) < LARGER_THAN_THE_BUFFERS


def test_a_slow_body_that_goes_on_is_read_to_its_end(site: LiveSite) -> None:
    """It takes twice as long as one may stall; what arrives extends its deadline."""
    # Where the machine stands still for that second, it is sent again.
    assert any(slow_body(site).startswith(b"HTTP/1.1 400 ") for _ in range(5))  # Its CSRF token is missing.


def slow_body(site: LiveSite) -> bytes:
    """Returns the response to a body whose tenths come one after another."""
    body = b"email=" + b"x" * 59_994
    with site.connect() as client, suppress(ConnectionError):
        client.sendall(BODY.replace(b"1000", b"60000").removesuffix(b"email="))
        for start in range(0, len(body), 6_000):
            client.sendall(body[start : start + 6_000])
            sleep(0.2)
        return client.recv(65_536)
    return b""


def test_a_client_that_ends_its_side_gets_its_response(site: LiveSite) -> None:
    with site.connect() as client:
        client.sendall(PAGE + b"\r\n")
        client.shutdown(socket.SHUT_WR)
        assert read_to_the_end(client, b"").startswith(b"HTTP/1.1 200 ")


def test_a_client_that_ends_its_side_with_the_last_bytes_of_a_body_gets_its_response(site: LiveSite) -> None:
    """The site asks for the body, so a task awaits it, and gets bytes and end in one packet."""
    with site.connect() as client:
        client.sendall(
            BODY.replace(b"Content-Length", b"Expect: 100-continue\r\nContent-Length").removesuffix(b"email=")
        )
        assert client.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(b"x" * 1000, socket.MSG_MORE)
        client.shutdown(socket.SHUT_WR)
        assert read_to_the_end(client, b"").startswith(b"HTTP/1.1 ")


def test_connections_beyond_the_limit_are_turned_away_and_the_others_served(
    migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = ["--worker-connections", "5"]
    with live_site(postgres_url, tmp_path_factory.mktemp("full"), options=options) as site, ExitStack() as open_:
        served = [open_.enter_context(site.connect()) for _ in range(5)]
        served[-1].sendall(PAGE + b"\r\n")
        assert served[-1].recv(65_536).startswith(b"HTTP/1.1 200 ")
        with site.connect() as late, suppress(ConnectionError):
            late.sendall(PAGE + b"\r\n")
            assert late.recv(65_536) == b""
        served[0].sendall(PAGE + b"\r\n")
        assert served[0].recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_a_page_in_flight_is_answered_when_the_server_stops(
    migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with live_site(postgres_url, tmp_path_factory.mktemp("stop")) as site, site.connect() as client:
        body = b"email=x"
        client.sendall(BODY.replace(b"1000", str(len(body)).encode()))
        assert site.request("/healthz")[0] == 200
        subprocess.run(["kill", "-TERM", str(site.pid)], check=True)
        client.sendall(b"x")
        assert client.recv(65_536).startswith(b"HTTP/1.1 400 ")


def test_idle_connections_delay_no_stop(
    migrated: Engine, postgres_url: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The site is stopped within half a minute, or its fixture fails."""
    options = ["--keep-alive", "600", "--graceful-timeout", "600"]
    with live_site(postgres_url, tmp_path_factory.mktemp("idle"), options=options) as site, site.connect() as client:
        client.sendall(PAGE + b"\r\n")
        assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")
        subprocess.run(["kill", "-TERM", str(site.pid)], check=True)
        assert read_to_the_end(client, b"") is not None


def test_the_servers_private_names_are_still_gunicorns() -> None:
    """Each method that the product overrides is one that gunicorn calls."""
    code = (
        "from gunicorn.workers import gasgi; base = gasgi.ASGIProtocol; from snoozer.web import server; import asyncio;"
        "own = {n for n in vars(server.Connection) if callable(vars(server.Connection)[n]) and not n.startswith('__')};"
        "print(sorted(n for n in own if not hasattr(base, n)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert (
        shown.stdout.strip()
        == "['_abort_unless_taken', '_start_timer', '_stop_discarding', '_stop_timer', 'end_if_idle']"
    )
