"""Where a connection leads: every address of the mail server's name gets its chance."""

import socket
import time
from collections.abc import Iterator

import pytest

from snoozer.smtp import transport as module
from snoozer.smtp.connection_pool import ConnectionPool
from snoozer.smtp.failure_limiter import FailureLimiter
from snoozer.smtp.session import ServerUnavailable
from snoozer.smtp.transport import ConnectionLost, Transport
from snoozer.smtp.url import SmtpServer
from tests import loops
from tests.mail.scripted_server import ScriptedServer

# No kernel knows it, as one without IPv6 does not know that.
UNKNOWN_FAMILY = 12345

Address = tuple[int, int, int, str, tuple[str, int]]


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port that takes no connection and refuses none: its queue is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, socket.socket() as first:
        first.connect(listener.getsockname())
        yield listener.getsockname()[1]


def stands_for(found: list[Address], monkeypatch: pytest.MonkeyPatch) -> None:
    async def addresses(host: str, port: int, *, until: float) -> list[Address]:
        return found

    monkeypatch.setattr(module, "resolve", addresses)


def at(port: int, family: int = socket.AF_INET) -> Address:
    return (family, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))


async def connected(*, seconds: float = 4) -> None:
    found = await Transport.connect("mail.example", 25, until=time.monotonic() + seconds)
    found.close()


def test_an_address_of_a_kind_this_machine_lacks_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as server:
        stands_for([at(server.port, UNKNOWN_FAMILY), at(server.port)], monkeypatch)
        loops.run(connected())


def test_an_address_that_does_not_answer_leaves_time_for_the_next(deaf: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer() as server:
        stands_for([at(deaf), at(server.port)], monkeypatch)
        loops.run(connected(seconds=1))


def test_when_no_address_answers_it_is_broken_in_time(deaf: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stands_for([at(deaf), at(deaf)], monkeypatch)
    with pytest.raises(ConnectionLost, match="in time"):
        loops.run(connected(seconds=0.2))


def test_a_machine_that_cannot_open_a_socket_fails_the_server_and_not_the_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was an error of the reminder: attempts were spent on it, and no breaker heard of it."""
    stands_for([at(25, UNKNOWN_FAMILY)], monkeypatch)
    gate = FailureLimiter(threshold=5)
    relay = SmtpServer.from_url("smtp://mail.example:25")
    outbox = ConnectionPool(relay, helo="x.example", mail_from="a@snoozer.example", connect_deadline=1, failures=gate)
    with pytest.raises(ServerUnavailable):
        loops.run(outbox.send_body(rcpt_to="ann@snoozer.example", message=b"x\r\n", deadline=1))
    assert gate.take_report().failures == 1
