"""The mail server of `snoozer up`."""

import smtplib
import socket
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine, select

from snoozer.db.models import CapturedMail
from snoozer.dev.sink import Sink, Store, store_in

Listening = Callable[[Store], smtplib.SMTP]


@pytest.fixture
def client_of() -> Iterator[Listening]:
    """A client of a sink with this `store`."""
    sinks: list[Sink] = []
    clients: list[smtplib.SMTP] = []

    def start(store: Store) -> smtplib.SMTP:
        sinks.append(Sink("127.0.0.1", 0, store))
        sinks[-1].start()
        clients.append(smtplib.SMTP("127.0.0.1", sinks[-1].port, local_hostname="test.example"))
        return clients[-1]

    yield start
    for client in clients:
        client.close()
    for sink in sinks:
        sink.stop()


def test_a_message_is_kept_byte_for_byte_before_it_is_acknowledged(client_of: Listening, engine: Engine) -> None:
    original = b"Subject: dots\r\n\r\n.\r\n..two\r\n\x00\xff 8-bit \xe2\x82\xac\r\n" + b"x" * 990 + b"\r\n"
    client = client_of(store_in(engine))
    client.sendmail("from@a.example", ["ann@b.example", "bob@b.example"], original)

    # The 250 was sent, and nothing else was waited for.
    with engine.connect() as connection:
        kept = connection.execute(
            select(CapturedMail.mail_from, CapturedMail.rcpt_to, CapturedMail.original).order_by(CapturedMail.id)
        ).all()
    assert kept == [("from@a.example", "ann@b.example", original), ("from@a.example", "bob@b.example", original)]


def test_a_message_that_cannot_be_kept_is_the_senders_to_try_again(
    client_of: Listening, caplog: pytest.LogCaptureFixture
) -> None:
    def no_room(mail_from: str, rcpt_tos: list[str], original: bytes) -> None:
        raise OSError("no room for secret@b.example")

    client = client_of(no_room)
    with pytest.raises(smtplib.SMTPDataError) as refused:
        client.sendmail("from@a.example", ["secret@b.example"], b"Subject: x\r\n\r\n")
    assert refused.value.smtp_code == 451
    assert "secret" not in caplog.text
    assert client.noop()[0] == 250


def test_a_connection_that_breaks_off_before_the_dot_keeps_nothing(client_of: Listening) -> None:
    kept: list[bytes] = []
    client = client_of(lambda mail_from, rcpt_tos, original: kept.append(original))
    assert client.sock is not None
    host, port = client.sock.getpeername()
    client.ehlo()
    for line in ("MAIL FROM:<a@a.example>", "RCPT TO:<b@b.example>", "DATA"):
        client.docmd(line)
    client.send("Subject: cut off\r\n\r\nhalf a sente")
    client.close()

    client = smtplib.SMTP(host, port, local_hostname="test.example")
    client.sendmail("a@a.example", ["b@b.example"], b"Subject: whole\r\n\r\n")
    client.close()
    assert kept == [b"Subject: whole\r\n\r\n"]


def test_addresses_beyond_ascii_are_taken(client_of: Listening) -> None:
    kept: list[list[str]] = []
    client = client_of(lambda mail_from, rcpt_tos, original: kept.append(rcpt_tos))
    client.sendmail("a@a.example", ["jürgen@b.example"], b"\r\n", mail_options=["SMTPUTF8"])
    assert kept == [["jürgen@b.example"]]


def test_a_port_that_is_taken_is_an_error_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        Sink("127.0.0.1", taken.getsockname()[1], lambda mail_from, rcpt_tos, original: None)
