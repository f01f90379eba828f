"""The mail server goes away while much is due: no row is retired, no attempt is spent, and it is not hammered."""

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from sqlalchemy import text

from tests.process.conftest import LOOK, TIMEOUT, Field, wait

DUE, WORKERS, THRESHOLD = 2000, 4, 5


@dataclass
class Refuser:
    """A port that takes a connection and says 421, counting, until it is turned into a way to the real server."""

    onward: int
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    connections: int = 0
    up: bool = False

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.up:
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()
                continue
            self.connections += 1
            with client:
                client.sendall(b"421 4.3.2 down for maintenance\r\n")

    def _forward(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.onward)) as server:
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@pytest.fixture
def refuser(place: Field) -> Iterator[Refuser]:
    refuser = Refuser(onward=place.sink.port)
    server = threading.Thread(target=refuser.serve, daemon=True)
    server.start()
    yield refuser
    refuser.listener.shutdown(socket.SHUT_RDWR)
    refuser.listener.close()
    server.join()


def test_an_outage_spends_no_attempt_retires_no_row_and_costs_few_connections(place: Field, refuser: Refuser) -> None:
    with place.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                "SELECT 'p' || n || '@snoozer.example', '<' || n || '@mail.example>', now() "
                "FROM generate_series(1, :due) AS n"
            ),
            {"due": DUE},
        )
    place.settings = {
        "SMTP_URL": f"smtp://127.0.0.1:{refuser.port}",
        "SNOOZER_BREAKER_COOLDOWN_SECONDS": "1",
        "SNOOZER_BREAKER_THRESHOLD": str(THRESHOLD),
    }
    workers = [place.start("worker") for _ in range(WORKERS)]
    try:
        probes = _wait_for_probes(place, refuser, wanted=5)
        assert refuser.connections <= THRESHOLD * WORKERS + probes
        with place.engine.connect() as connection:
            spent, retired = connection.execute(
                text("SELECT sum(attempts), count(*) FILTER (WHERE outcome = 'retired') FROM email_snoozes")
            ).one()
        assert (spent, retired) == (0, 0)
        refuser.up = True
        _wait_until_all_are_sent(place)
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.communicate(timeout=TIMEOUT)
    assert len({mail["message_id"] for mail in place.sink.accepted()}) == len(place.sink.accepted()) == DUE


def _wait_for_probes(place: Field, refuser: Refuser, *, wanted: int) -> int:
    """Wait until the breaker has been probed so often; answers an upper bound of the probes there were."""
    ends, probes, last = time.monotonic() + TIMEOUT, 0, None
    while probes < wanted and time.monotonic() < ends:
        with place.engine.connect() as connection:
            opened_at = connection.execute(text("SELECT max(opened_at) FROM circuit_breakers")).scalar_one()
        if opened_at is not None and opened_at != last:
            probes, last = probes + (last is not None), opened_at
        time.sleep(LOOK)
    assert probes == wanted
    return probes + 1


def _wait_until_all_are_sent(place: Field) -> None:
    def none_waits() -> bool:
        with place.engine.connect() as connection:
            return not connection.execute(text("SELECT count(*) FROM email_snoozes WHERE NOT inactive")).scalar_one()

    wait(none_waits)
