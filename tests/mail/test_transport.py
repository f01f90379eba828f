"""Every address of the mail server's name is tried, and every wait ends at its own deadline."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from snoozer.mail.smtp.client import check_reachable
from snoozer.mail.smtp.errors import ServerUnavailable
from snoozer.mail.smtp.transport import ConnectionLost, Transport
from snoozer.mail.smtp.url import SmtpServer
from tests import loops
from tests.loops import on_a_loop
from tests.mail.scripted_server import ScriptedServer
from tests.mail.sending import MailQueue

# No kernel knows it, as one without IPv6 does not know that.
UNKNOWN_FAMILY = 12345

Address = tuple[int, int, int, str, tuple[str, int]]


@pytest.fixture
def full_backlog() -> Iterator[int]:
    """A port that neither accepts nor refuses a connection: its queue is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, socket.socket() as first:
        first.connect(listener.getsockname())
        yield listener.getsockname()[1]


def resolves_to(found: list[Address], monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(host: str, port: int, *, flags: int = 0, **_: Any) -> list[Address]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror
        return found

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def at(port: int, family: int = socket.AF_INET) -> Address:
    return (family, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))


async def connected(*, seconds: float = 4) -> None:
    found = await Transport.connect("mail.example", 25, until=time.monotonic() + seconds)
    found.close()


def test_an_address_of_a_kind_this_machine_lacks_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as server:
        resolves_to([at(server.port, UNKNOWN_FAMILY), at(server.port)], monkeypatch)
        loops.run(connected())


def test_an_address_without_a_reply_leaves_time_for_the_next(
    full_backlog: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedServer() as server:
        resolves_to([at(full_backlog), at(server.port)], monkeypatch)
        loops.run(connected(seconds=1))


def test_without_a_reply_from_any_address_the_deadline_holds(
    full_backlog: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolves_to([at(full_backlog), at(full_backlog)], monkeypatch)
    with pytest.raises(ConnectionLost, match="in time"):
        loops.run(connected(seconds=0.2))


def test_a_resolver_that_hangs_delays_neither_the_deadline_nor_the_end_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop's own resolver thread would be waited for at the end of `asyncio.run`, and again at exit."""
    asked, released, before = threading.Event(), threading.Event(), set(threading.enumerate())

    def getaddrinfo(host: str, port: int, *, flags: int = 0, **_: Any) -> list[Address]:
        if flags & socket.AI_NUMERICHOST:
            raise socket.gaierror
        asked.set()
        released.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with ThreadPoolExecutor(1) as thread, pytest.raises(ServerUnavailable, match="not resolved in time"):
        # Not in pytest's thread, where the browser's driver may hold a loop.
        thread.submit(check_reachable, SmtpServer.from_url("smtp://mail.example"), helo="x", deadline=0.2).result()
    [resolver] = [thread for thread in threading.enumerate() if thread.name == "resolver" and thread not in before]
    assert asked.is_set()
    assert resolver.daemon
    released.set()
    resolver.join(10)


def test_a_machine_that_cannot_open_a_socket_fails_the_server_and_not_the_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was an error of the reminder: attempts were spent on it, and not counted by the breaker."""
    resolves_to([at(25, UNKNOWN_FAMILY)], monkeypatch)
    queue = MailQueue(SmtpServer.from_url("smtp://mail.example:25"))
    with pytest.raises(ServerUnavailable):
        loops.run(queue.send())
    assert queue.limits.take_report().failures == 1


class Lines:
    """A server that sends what a test writes."""

    def __init__(self) -> None:
        self.writer: asyncio.StreamWriter | None = None
        self._connected = asyncio.Event()

    async def connect(self) -> Transport:
        def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.writer = writer
            self._connected.set()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport = await Transport.connect("127.0.0.1", port, until=time.monotonic() + 5)
        await self._connected.wait()
        server.close()
        return transport

    def send(self, line: bytes) -> None:
        assert self.writer is not None
        self.writer.write(line)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


@on_a_loop
async def test_the_deadline_of_an_earlier_wait_does_not_end_a_later_one() -> None:
    lines, loop = Lines(), asyncio.get_running_loop()
    transport = await lines.connect()
    early = loop.time() + 0.3
    lines.send(b"250 one\r\n")
    assert (await transport.read_reply(until=early)).code == 250
    loop.call_at(early + 0.2, lines.send, b"251 two\r\n")
    assert (await transport.read_reply(until=loop.time() + 30)).code == 251
    transport.close()
    lines.close()


@on_a_loop
async def test_a_wait_with_a_shorter_deadline_than_the_one_before_ends_in_time() -> None:
    lines, loop = Lines(), asyncio.get_running_loop()
    transport = await lines.connect()
    lines.send(b"250 one\r\n")
    assert (await transport.read_reply(until=loop.time() + 600)).code == 250
    with pytest.raises(ConnectionLost, match="no answer in time"):
        await asyncio.wait_for(transport.read_reply(until=loop.time() + 0.1), 30)
    lines.send(b"250 late\r\n")
    assert (await transport.read_reply(until=loop.time() + 30)).text == "late"
    transport.close()
    lines.close()


@on_a_loop
async def test_a_deadline_that_is_over_is_no_wait_without_end() -> None:
    lines, loop = Lines(), asyncio.get_running_loop()
    transport = await lines.connect()
    with pytest.raises(ConnectionLost, match="no answer in time"):
        await asyncio.wait_for(transport.read_reply(until=loop.time() - 1), 30)
    transport.close()
    lines.close()
