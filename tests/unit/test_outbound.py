"""Connections to hosts that people name: no address inside of a network is reached, by whatever name or spelling."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from snoozer.runtime import outbound
from snoozer.runtime.outbound import OutboundError
from tests.addresses import NEVER, PRIVATE, PUBLIC


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_allowed(address: str) -> None:
    assert outbound.is_allowed(address, allow_private=False)
    assert not outbound.is_private(address)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_is_allowed_by_the_setting_only(address: str) -> None:
    assert not outbound.is_allowed(address, allow_private=False)
    assert outbound.is_allowed(address, allow_private=True)
    assert outbound.is_private(address)


@pytest.mark.parametrize("address", NEVER)
def test_link_local_multicast_reserved_and_metadata_addresses_are_never_allowed(address: str) -> None:
    assert not outbound.is_allowed(address, allow_private=False)
    assert not outbound.is_allowed(address, allow_private=True)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def refusal(host: str, port: int = 993, *, allow_private: bool = False) -> OutboundError:
    with pytest.raises(OutboundError) as raised:
        outbound.connect(host, port, allow_private=allow_private, timeout=5).close()
    return raised.value


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "::1", "0"],
)
def test_every_spelling_of_this_machine_is_refused(host: str) -> None:
    error = refusal(host)
    assert error.code == "refused_address"
    assert "private or reserved network" in str(error)


@pytest.mark.parametrize(
    "host",
    ["", " ", "a b", "imap.example.org\r\nEHLO", "im\0ap", "a" * 64 + ".example", "a." * 130, "..", "no.such.invalid"],
)
def test_what_is_no_name_of_a_host_is_refused_with_a_sentence(host: str) -> None:
    error = refusal(host)
    assert error.code == "name"
    assert str(error).endswith(".")


@pytest.mark.parametrize("port", [-1, 0, 22, 25, 80, 5432, 65_536, 2**70])
def test_other_ports_than_those_of_imap_are_refused(port: int) -> None:
    assert refusal("8.8.8.8", port).code == "port"


def test_the_setting_allows_private_networks_on_every_port(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with outbound.connect("localhost", port, allow_private=True, timeout=5) as connection:
        assert connection.getpeername()[1] == port
        assert connection.gettimeout() == 5
    assert refusal("localhost", port).code == "port"


def test_a_port_where_nothing_listens_is_one_sentence(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    listener.close()
    error = refusal("127.0.0.1", port, allow_private=True)
    assert (error.code, str(error)) == ("unreachable", f"Nothing answers at 127.0.0.1, port {port}.")


Answers = Callable[..., Any]


def answering(*answers: list[str]) -> tuple[Answers, list[str]]:
    """A name server that answers each question with the next of `answers`, and the names it was asked for."""
    left, asked = list(answers), []

    def getaddrinfo(host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in left.pop(0)]

    return getaddrinfo, asked


def test_a_name_is_resolved_once_so_that_a_changed_answer_has_no_effect(
    monkeypatch: pytest.MonkeyPatch, listener: socket.socket
) -> None:
    """The first answer may be connected to, and would be this machine by the second."""
    port = listener.getsockname()[1]
    getaddrinfo, asked = answering(["127.0.0.2"], ["127.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert refusal("rebinding.example", port, allow_private=True).code == "unreachable"
    assert asked == ["rebinding.example"]


@pytest.mark.parametrize("addresses", [["8.8.8.8", "10.0.0.1"], ["169.254.169.254", "8.8.8.8"]])
def test_one_refused_address_among_several_refuses_the_name(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answering(addresses)[0])
    assert refusal("mixed.example").code == "refused_address"


def test_the_next_address_is_tried_where_nothing_answers_at_the_first(
    monkeypatch: pytest.MonkeyPatch, listener: socket.socket
) -> None:
    port = listener.getsockname()[1]
    monkeypatch.setattr(socket, "getaddrinfo", answering(["127.0.0.2", "127.0.0.1"])[0])
    with outbound.connect("two.example", port, allow_private=True, timeout=5) as connection:
        assert connection.getpeername() == ("127.0.0.1", port)


def test_a_server_that_keeps_sending_a_little_is_cut_off(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    ended = threading.Event()

    def drip() -> None:
        server, _ = listener.accept()
        with server, suppress(OSError):
            while not ended.wait(0.01):
                server.send(b"*")

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    with outbound.connect("127.0.0.1", port, allow_private=True, timeout=30) as connection:
        # Reset, where more was sent after the end.
        with outbound.closed_after(connection, 0.2), suppress(ConnectionResetError):
            while connection.recv(100):
                pass
        ended.set()
        thread.join()
