"""The door: what was on the wire is what is kept, and 250 means kept."""

import logging
import smtplib
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from snoozer.inbound import lmtp_server
from snoozer.inbound.lmtp_server import IncomingMail
from tests.mail.inbound_servers import KEPT, Opening

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def test_lmtp_answers_for_each_recipient(a_door: Opening) -> None:
    replies = [KEPT, "452 4.2.2 Full", "550 5.7.1 Not from you"]
    opened = a_door(deliver=lambda _: replies)
    talk = opened.talk()
    answers = talk.opens_data("a@b.example", "nobody@b.example", "c@b.example", "d@b.example")
    assert [answer[:3] for answer in answers] == ["250", "250", "250", "550", "250", "250", "354"]
    talk.says(b"hello\r\n.\r\n")
    assert [talk.hears() for _ in replies] == replies
    assert talk.asks("NOOP").startswith("250")
    talk.close()


@pytest.mark.parametrize(
    ("replies", "heard"),
    [
        ([KEPT, KEPT], KEPT),
        ([KEPT, "550 5.7.1 no"], "550 5.7.1 no"),
        (["550 5.7.1 no", "451 4.3.0 later"], "451 4.3.0 later"),
    ],
)
def test_smtp_hears_the_worst_so_that_nothing_is_lost_unheard(a_door: Opening, replies: list[str], heard: str) -> None:
    talk = a_door("smtp", deliver=lambda _: replies).talk()
    talk.opens_data("a@b.example", "c@b.example", greeting="EHLO x")
    talk.says(b"hello\r\n.\r\n")
    assert talk.hears() == heard
    assert talk.asks("NOOP").startswith("250")
    talk.close()


def test_the_250_comes_after_the_commit_and_never_before(a_door: Opening) -> None:
    asked, commit = threading.Event(), threading.Event()

    def deliver(incoming: IncomingMail) -> list[str]:
        asked.set()
        assert commit.wait(10)
        return [KEPT]

    opened = a_door(deliver=deliver)
    talk = opened.talk()
    talk.opens_data("ann@b.example")
    talk.says(b"hello\r\n.\r\n")
    assert asked.wait(10)
    talk._socket.settimeout(0.2)
    with pytest.raises(TimeoutError):
        talk._socket.recv(1)
    # The others are not kept waiting while one commit takes its time.
    other = opened.talk()
    assert other.asks("LHLO y").startswith("250")
    other.close()
    commit.set()
    talk._socket.settimeout(10)
    assert talk._socket.recv(100) == KEPT.encode() + b"\r\n"
    talk.close()


def test_a_door_that_closes_still_answers_for_the_mail_in_hand(a_door: Opening) -> None:
    asked, commit = threading.Event(), threading.Event()

    def deliver(incoming: IncomingMail) -> list[str]:
        asked.set()
        assert commit.wait(10)
        return [KEPT]

    opened = a_door(deliver=deliver)
    talk, idle = opened.talk(), opened.talk()
    talk.opens_data("ann@b.example")
    talk.says(b"hello\r\n.\r\n")
    assert asked.wait(10)
    closing = threading.Thread(target=opened.door.stop)
    closing.start()
    commit.set()
    assert talk.hears() == KEPT
    closing.join(10)
    assert not closing.is_alive()
    assert idle.hears() == ""
    talk.close()
    idle.close()


@pytest.mark.parametrize("replies", [[], [KEPT, KEPT], ["250 injected\r\n250 twice"], ["hello"], [""]])
def test_an_answer_that_makes_no_sense_is_a_try_again(a_door: Opening, replies: list[str]) -> None:
    talk = a_door(deliver=lambda _: replies).talk()
    talk.opens_data("ann@b.example")
    talk.says(b"hello\r\n.\r\n")
    assert talk.hears().startswith("451 4.3.0 ")
    assert talk.asks("NOOP").startswith("250")
    talk.close()


def test_a_database_that_is_away_is_a_try_again_and_tells_no_secrets(
    a_door: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*_: object) -> Any:
        raise ConnectionError("no database for secret@b.example")

    caplog.set_level(logging.DEBUG)
    with a_door(deliver=away).client() as client, pytest.raises(smtplib.SMTPDataError) as refused:
        client.sendmail("from@a.example", ["secret@b.example"], "Subject: secret\r\n\r\n")
    assert refused.value.smtp_code == 451
    with a_door(recipient_exists=away).client() as client, pytest.raises(smtplib.SMTPRecipientsRefused) as nobody:
        client.sendmail("from@a.example", ["secret@b.example"], "Subject: secret\r\n\r\n")
    assert nobody.value.recipients["secret@b.example"][0] == 451
    assert "secret" not in caplog.text
    assert "ConnectionError" in caplog.text


def test_a_sender_on_a_slow_line_has_time_as_long_as_something_comes(
    a_door: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lmtp_server, "DATA_TIMEOUT", 2)
    opened = a_door()
    talk = opened.talk()
    talk.opens_data("ann@b.example")
    talk._socket.settimeout(0.25)
    for _ in range(12):
        talk.says(b"x" * 70_000 + b"\r\n")
        with pytest.raises(TimeoutError):
            talk._socket.recv(1)
    talk._socket.settimeout(10)
    talk.says(b".\r\n")
    assert talk._socket.recv(100) == KEPT.encode() + b"\r\n"
    talk.opens_data("ann@b.example")
    talk.says(b"and now nothing")
    assert talk.hears() == ""
    talk.close()
    assert [len(incoming.original) for incoming in opened.kept] == [12 * 70_002]


def test_a_sender_that_vanishes_leaves_nothing_behind(a_door: Opening) -> None:
    opened = a_door()
    for _ in range(5):
        talk = opened.talk()
        talk.opens_data("ann@b.example")
        talk.says(b"half a mail\r\n" * 1_000)
        talk.close()
    with opened.client() as client:
        client.sendmail("a@b.example", ["ann@b.example"], b"whole\r\n")
    assert [incoming.original for incoming in opened.kept] == [b"whole\r\n"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("RCPT TO:<nobody@b.example>", "550"),
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
def test_what_makes_no_sense_is_refused_and_the_talk_goes_on(a_door: Opening, line: str, code: str) -> None:
    talk = a_door().talk()
    talk.asks("LHLO x")
    talk.asks("MAIL FROM:<a@b.example> SMTPUTF8")
    assert talk.asks(line)[:3] == code
    assert talk.asks("NOOP").startswith("250")
    talk.close()


def test_an_address_that_is_no_text_is_refused(a_door: Opening) -> None:
    talk = a_door().talk()
    talk.asks("LHLO x")
    talk.asks("MAIL FROM:<a@b.example>")
    talk.says(b"RCPT TO:<\xff@b.example>\r\n")
    assert talk.hears().startswith("553 ")
    talk.close()


def test_a_bounce_has_an_empty_sender(a_door: Opening) -> None:
    opened = a_door()
    talk = opened.talk()
    talk.asks("LHLO x")
    assert talk.asks("MAIL FROM:<>").startswith("250")
    talk.asks("RCPT TO:<ann@b.example>")
    talk.asks("DATA")
    talk.says(b"bounce\r\n.\r\n")
    assert talk.hears() == KEPT
    talk.close()
    assert opened.kept[0].mail_from == ""


def test_a_port_that_is_taken_says_so(a_door: Opening) -> None:
    taken = a_door().door.port
    with pytest.raises(OSError, match=str(taken)):
        a_door(port=taken)


def test_a_stopped_door_can_be_opened_again(a_door: Opening) -> None:
    opened = a_door()
    opened.door.stop()
    opened.door.start()
    with opened.client() as client:
        client.sendmail("a@b.example", ["ann@b.example"], b"again\r\n")
    assert len(opened.kept) == 1


def test_aiosmtpd_is_the_version_whose_private_methods_are_overridden() -> None:
    """`_handle_client`, `_reader`, `_create_envelope` and `_reset_timeout` may change with any release.

    Read aiosmtpd's `smtp.py` again before moving this version, and the pin in pyproject.toml and the lock with it.
    """
    assert version("aiosmtpd") == "1.4.6"
    assert '"aiosmtpd==1.4.6"' in PYPROJECT.read_text()
