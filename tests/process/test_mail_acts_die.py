"""`kill -9` of `snoozer inbound` while a mail acts or a reminder is returned: the mail comes again, and counts once."""

import contextlib
import smtplib
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from sqlalchemy import text

from snoozer.mail import links
from tests.factories import People, an_original, the_row, wait_until_a_session_waits
from tests.mail.reports import REPORTS
from tests.mail_doors import DOMAIN
from tests.process.conftest import TIMEOUT, Field
from tests.web.reminders import a_sent_reminder

# The act waits for a lock on each of these tables, in the order in which it writes to them.
STEPS = ("mail_acts", "messages", "email_snoozes", "snooze_events")
REPORT_STEPS = ("snooze_events", "pauses", "audit_log")


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


def deliver_through_a_death(place: Field, mail: bytes, address: str, *, step: str) -> None:
    """The process dies where the mail waits for this table, or after its reply; then the mail comes twice."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

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


@pytest.mark.parametrize("step", [*REPORT_STEPS, "replied"])
def test_a_bounce_counts_once_wherever_the_process_dies(place: Field, people: People, step: str) -> None:
    people.ann()
    id = a_sent_reminder(place.engine)
    promise, keys = the_row(place.engine, id).scheduled_for, [place.environment["SECRET_KEY"]]
    address = f"{links.sign_address(id, promise, keys=keys, action='bounce')}@{DOMAIN}"
    deliver_through_a_death(place, REPORTS["Postfix, no such user"].mail, address, step=step)
    with place.engine.connect() as connection:
        counts = [connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in REPORT_STEPS]  # noqa: S608
    assert counts == [1, 1, 1]


@pytest.mark.parametrize("step", [*STEPS, "replied"])
def test_a_mail_acts_once_wherever_the_process_dies(place: Field, people: People, step: str) -> None:
    people.ann()
    with place.engine.connect() as connection:
        key = connection.execute(text("SELECT mail_key FROM accounts")).scalar_one()
    deliver_through_a_death(place, an_original(), f"3d+{key}@{DOMAIN}", step=step)
    with place.engine.connect() as connection:
        events = connection.execute(text("SELECT kind, route FROM snooze_events")).all()
        counts = [connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in STEPS]  # noqa: S608
    assert events == [("asked", "address")]
    assert counts == [1, 1, 1, 1]
    for _ in range(2):
        ended = place.run("worker", "--drain", SNOOZER_INBOUND_DOMAIN=DOMAIN)
        assert ended.returncode == 0, ended.stderr
    assert len(place.sink.accepted()) == 1
