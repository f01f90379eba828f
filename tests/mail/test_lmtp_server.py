"""Incoming mail: 250 means stored, and anything else that the sender tries again or knows."""

import logging
import smtplib
import threading
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from snoozer.mailboxes.inbound import lmtp_server
from snoozer.mailboxes.inbound.lmtp_server import IncomingMail
from tests.mail.inbound_servers import KEPT, StartServer

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def test_lmtp_replies_for_each_recipient(start_server: StartServer) -> None:
    replies = [KEPT, "452 4.2.2 Full", "550 5.7.1 Not from you"]
    server = start_server(deliver=lambda _: replies)
    session = server.connect()
    received = session.open_data("a@b.example", "unknown@b.example", "c@b.example", "d@b.example")
    assert [reply[:3] for reply in received] == ["250", "250", "250", "550", "250", "250", "354"]
    session.send(b"hello\r\n.\r\n")
    assert [session.read_reply() for _ in replies] == replies
    assert session.command("NOOP").startswith("250")
    session.close()


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ([KEPT, KEPT], KEPT),
        ([KEPT, "550 5.7.1 no"], "550 5.7.1 no"),
        (["550 5.7.1 no", "451 4.3.0 later"], "451 4.3.0 later"),
    ],
)
def test_smtp_replies_the_worst_so_that_nothing_is_lost(
    start_server: StartServer, replies: list[str], expected: str
) -> None:
    session = start_server("smtp", deliver=lambda _: replies).connect()
    session.open_data("a@b.example", "c@b.example", greeting="EHLO x")
    session.send(b"hello\r\n.\r\n")
    assert session.read_reply() == expected
    assert session.command("NOOP").startswith("250")
    session.close()


def test_the_250_comes_after_the_commit_and_never_before(start_server: StartServer) -> None:
    asked, commit = threading.Event(), threading.Event()

    def deliver(incoming: IncomingMail) -> list[str]:
        asked.set()
        assert commit.wait(60)
        return [KEPT]

    server = start_server(deliver=deliver)
    session = server.connect()
    session.open_data("ann@b.example")
    session.send(b"hello\r\n.\r\n")
    assert asked.wait(60)
    assert session.is_silent(seconds=0.2)
    # The others are not kept waiting while one commit takes its time.
    other = server.connect()
    assert other.command("LHLO y").startswith("250")
    other.close()
    commit.set()
    assert session.read_reply() == KEPT
    session.close()


def test_a_server_that_stops_still_replies_for_the_mail_in_progress(start_server: StartServer) -> None:
    asked, commit = threading.Event(), threading.Event()

    def deliver(incoming: IncomingMail) -> list[str]:
        asked.set()
        assert commit.wait(60)
        return [KEPT]

    server = start_server(deliver=deliver)
    session, idle = server.connect(), server.connect()
    session.open_data("ann@b.example")
    session.send(b"hello\r\n.\r\n")
    assert asked.wait(60)
    closing = threading.Thread(target=server.inbound.stop)
    closing.start()
    commit.set()
    assert session.read_reply() == KEPT
    closing.join(60)
    assert not closing.is_alive()
    assert idle.read_reply() == ""
    session.close()
    idle.close()


@pytest.mark.parametrize("replies", [[], [KEPT, KEPT], ["250 injected\r\n250 twice"], ["hello"], [""]])
def test_an_invalid_reply_becomes_a_temporary_failure(start_server: StartServer, replies: list[str]) -> None:
    session = start_server(deliver=lambda _: replies).connect()
    session.open_data("ann@b.example")
    session.send(b"hello\r\n.\r\n")
    assert session.read_reply().startswith("451 4.3.0 ")
    assert session.command("NOOP").startswith("250")
    session.close()


def test_an_unavailable_database_is_a_temporary_failure_that_logs_no_address(
    start_server: StartServer, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object) -> Any:
        raise ConnectionError("no database for secret@b.example")

    caplog.set_level(logging.DEBUG)
    with start_server(deliver=away).client() as client, pytest.raises(smtplib.SMTPDataError) as refused:
        client.sendmail("from@a.example", ["secret@b.example"], "Subject: secret\r\n\r\n")
    assert refused.value.smtp_code == 451
    with (
        start_server(recipient_exists=away).client() as client,
        pytest.raises(smtplib.SMTPRecipientsRefused) as unknown,
    ):
        client.sendmail("from@a.example", ["secret@b.example"], "Subject: secret\r\n\r\n")
    assert unknown.value.recipients["secret@b.example"][0] == 451
    assert "secret" not in caplog.text
    assert "ConnectionError" in caplog.text


def test_a_sender_on_a_slow_line_has_time_as_long_as_something_comes(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmtp_server, "DATA_TIMEOUT", 2)
    server = start_server()
    session = server.connect()
    session.open_data("ann@b.example")
    for _ in range(12):
        session.send(b"x" * 70_000 + b"\r\n")
        assert session.is_silent(seconds=0.25)
    session.send(b".\r\n")
    assert session.read_reply() == KEPT
    session.open_data("ann@b.example")
    session.send(b"and now nothing")
    assert session.read_reply() == ""
    session.close()
    assert [len(incoming.original) for incoming in server.stored] == [12 * 70_002]


def test_a_sender_that_vanishes_leaves_nothing_behind(start_server: StartServer) -> None:
    server = start_server()
    for _ in range(5):
        session = server.connect()
        session.open_data("ann@b.example")
        session.send(b"half a mail\r\n" * 1_000)
        session.close()
    with server.client() as client:
        client.sendmail("a@b.example", ["ann@b.example"], b"whole\r\n")
    assert [incoming.original for incoming in server.stored] == [b"whole\r\n"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("RCPT TO:<unknown@b.example>", "550"),
        ("RCPT TO:<jörg@b.example>", "250"),
        ("RCPT TO:<>", "553"),
        ("RCPT TO:<a@b.example> X=Y", "555"),
        ("RCPT TO:" + "(" * 400, "553"),
        ("RCPT TO:<" + "a" * 1_500 + "@b.example>", "500"),
        ("DATA", "503"),
        ("DATA x", "503"),
        ("EHLO x", "500"),
        ("\0", "500"),
    ],
)
def test_an_invalid_command_is_refused_and_the_session_goes_on(start_server: StartServer, line: str, code: str) -> None:
    session = start_server().connect()
    session.command("LHLO x")
    session.command("MAIL FROM:<a@b.example> SMTPUTF8")
    assert session.command(line)[:3] == code
    assert session.command("NOOP").startswith("250")
    session.close()


@pytest.mark.parametrize("command", [b"MAIL FROM:<a@b.example>\n", b"MAIL\rFROM:<a@b.example>\r\n", b"NOOP\n"])
def test_a_command_with_a_bare_line_end_is_refused(start_server: StartServer, command: bytes) -> None:
    session = start_server().connect()
    session.command("LHLO x")
    session.send(command)
    assert session.read_reply().startswith("500 5.5.2 ")
    assert session.command("NOOP").startswith("250 ")
    session.close()


def test_a_message_has_at_most_a_hundred_recipients_known_or_not(start_server: StartServer) -> None:
    asked: list[str] = []

    def exists(address: str) -> bool:
        asked.append(address)
        return address.startswith("ann")

    server = start_server(recipient_exists=exists)
    session = server.connect()
    addresses = [f"{name}{number}@b.example" for number in range(60) for name in ("ann", "unknown")]
    received = session.open_data(*addresses)[2:]
    assert [reply[:9] for reply in received[98:]] == ["250 2.1.5", "550 5.1.1", *["452 4.5.3"] * 20, received[-1][:9]]
    session.send(b"hello\r\n.\r\n")
    assert [session.read_reply() for _ in range(50)] == [KEPT] * 50
    assert len(asked) == 100
    assert session.open_data("ann@b.example")[-1].startswith("354")
    session.close()


def test_one_peer_leaves_connections_to_others(start_server: StartServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmtp_server, "MAX_PEER_CONNECTIONS", 3)
    server = start_server()
    sessions = [server.connect() for _ in range(3)]
    with pytest.raises(smtplib.SMTPConnectError) as refused:
        server.client()
    assert refused.value.smtp_code == 421
    leaving = sessions.pop()
    leaving.command("QUIT")
    leaving.close()
    while server.inbound.peers["127.0.0.1"] > 2:
        sessions[0].command("NOOP")
    server.connect().close()
    for session in sessions:
        session.close()


def test_commands_without_a_message_end_the_session(start_server: StartServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmtp_server, "COMMANDS_TIMEOUT", 1)
    session = start_server().connect()
    with suppress(OSError):
        while session.command("NOOP"):
            pass
    session.close()


def test_an_address_that_is_no_text_is_refused(start_server: StartServer) -> None:
    session = start_server().connect()
    session.command("LHLO x")
    session.command("MAIL FROM:<a@b.example>")
    session.send(b"RCPT TO:<\xff@b.example>\r\n")
    assert session.read_reply().startswith("553 ")
    session.close()


def test_a_bounce_has_an_empty_sender(start_server: StartServer) -> None:
    server = start_server()
    session = server.connect()
    session.command("LHLO x")
    assert session.command("MAIL FROM:<>").startswith("250")
    session.command("RCPT TO:<ann@b.example>")
    session.command("DATA")
    session.send(b"bounce\r\n.\r\n")
    assert session.read_reply() == KEPT
    session.close()
    assert server.stored[0].mail_from == ""


def test_a_port_that_is_taken_says_so(start_server: StartServer) -> None:
    taken = start_server().inbound.port
    with pytest.raises(OSError, match=str(taken)):
        start_server(port=taken)


def test_a_stopped_server_can_be_started_again(start_server: StartServer) -> None:
    server = start_server()
    server.inbound.stop()
    server.inbound.start()
    with server.client() as client:
        client.sendmail("a@b.example", ["ann@b.example"], b"again\r\n")
    assert len(server.stored) == 1


def test_aiosmtpd_is_the_version_whose_private_methods_are_overridden() -> None:
    """`_handle_client`, `_reader`, `_create_envelope` and `_reset_timeout` may change with any release.

    Read aiosmtpd's `smtp.py` again before moving this version, and the pin in pyproject.toml and the lock with it.
    """
    assert version("aiosmtpd") == "1.4.6"
    assert '"aiosmtpd==1.4.6"' in PYPROJECT.read_text()
