"""`kill -9` of `snoozer inbound` while a mail acts: the mail comes again, and acts and is answered once."""

import contextlib
import smtplib
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from sqlalchemy import text

from tests.factories import People, an_original, wait_until_a_session_waits
from tests.mail_doors import DOMAIN
from tests.process.conftest import TIMEOUT, Field

# The act waits for a lock on each of these tables, in the order in which it writes to them.
STEPS = ("mail_acts", "messages", "email_snoozes", "snooze_events")


@contextmanager
def inbound(place: Field, port: int) -> Iterator["subprocess.Popen[str]"]:
    process = place.start("inbound", SNOOZER_INBOUND_PORT=str(port), SNOOZER_INBOUND_DOMAIN=DOMAIN)
    assert process.stderr is not None
    assert "taking mail" in process.stderr.readline()
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT)


def deliver(port: int, mail: bytes, address: str) -> None:
    with smtplib.LMTP("127.0.0.1", port, local_hostname="test.example") as client:
        assert client.sendmail("ann@snoozer.example", address, mail) == {}


@pytest.mark.parametrize("step", [*STEPS, "replied"])
def test_a_mail_acts_once_wherever_the_process_dies(place: Field, people: People, step: str) -> None:
    people.ann()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with place.engine.connect() as connection:
        key = connection.execute(text("SELECT mail_key FROM accounts")).scalar_one()
    mail, address = an_original(), f"3d+{key}@{DOMAIN}"

    def try_to_deliver() -> None:
        with contextlib.suppress(smtplib.SMTPException, OSError):
            deliver(port, mail, address)

    with inbound(place, port) as process:
        if step == "replied":
            deliver(port, mail, address)
            process.kill()
        else:
            with place.engine.begin() as holding:
                holding.execute(text(f"LOCK TABLE {step} IN EXCLUSIVE MODE"))
                sender = Thread(target=try_to_deliver)
                sender.start()
                wait_until_a_session_waits(place.engine, who=sender)
                process.kill()
                sender.join()
    with inbound(place, port):
        for _ in range(2):
            deliver(port, mail, address)
    with place.engine.connect() as connection:
        events = connection.execute(text("SELECT kind, route FROM snooze_events")).all()
        counts = [connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in STEPS]  # noqa: S608
    assert events == [("asked", "address")]
    assert counts == [1, 1, 1, 1]
    for _ in range(2):
        ended = place.run("worker", "--drain", SNOOZER_INBOUND_DOMAIN=DOMAIN)
        assert ended.returncode == 0, ended.stderr
    assert len(place.sink.accepted()) == 1
