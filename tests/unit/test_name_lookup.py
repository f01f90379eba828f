"""A name server that is silent holds nothing for longer than its caller waits."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from snoozer.runtime import name_lookup, outbound
from snoozer.runtime.outbound import OutboundError


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lookups of names give no answer until the test is over."""
    answers = threading.Event()

    def getaddrinfo(*_: Any, **__: Any) -> list[Any]:
        answers.wait(30)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield
    answers.set()
    for thread in threading.enumerate():
        if thread.name == "name lookup":
            thread.join(30)


def test_a_connection_to_a_name_without_an_answer_ends_with_its_deadline(silent: None) -> None:
    with pytest.raises(OutboundError) as refused:
        outbound.connect("silent.example", 443, allow_private=False, timeout=0.05, ports=outbound.WEB_PORTS)
    assert refused.value.code == "unreachable"


def test_no_more_threads_than_there_may_be_wait_for_a_name_server(silent: None) -> None:
    before = threading.active_count()
    for _ in range(2 * name_lookup.MAX_LOOKUPS):
        with pytest.raises(name_lookup.LookupTimeout):
            name_lookup.addresses("silent.example", 443, timeout=0.001)
    assert threading.active_count() - before <= name_lookup.MAX_LOOKUPS


def test_what_cannot_be_looked_up_is_refused_as_without_a_deadline() -> None:
    with pytest.raises(UnicodeError):
        name_lookup.addresses("a" * 64 + ".example", 443, timeout=10)
    assert name_lookup.addresses("127.0.0.1", 443, timeout=10)
