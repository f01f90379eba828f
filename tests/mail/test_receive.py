"""The door: what was on the wire is what is kept, and 250 means kept."""

import logging
import re
import resource
import smtplib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import pytest

from snoozer.mail.receive import Door, Incoming

KEPT = "250 2.0.0 Kept"
Opening = Callable[..., "Opened"]


class Opened:
    """A door with a list behind it, and ways to talk to it."""

    def __init__(self, **changes: Any) -> None:
        self.kept: list[Incoming] = []
        settled: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": 0,
            "knows": lambda address: not address.startswith("nobody"),
            "deliver": self._keep,
        }
        self.door = Door(**(settled | changes))
        self.door.start()

    def _keep(self, incoming: Incoming) -> list[str]:
        self.kept.append(incoming)
        return [KEPT] * len(incoming.rcpt_to)

    def client(self, kind: type[smtplib.SMTP] = smtplib.LMTP) -> smtplib.SMTP:
        return kind("127.0.0.1", self.door.port, local_hostname="test.example")

    def talk(self) -> "Talk":
        return Talk(self.door.port)


class Talk:
    """The protocol by hand."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._file = self._socket.makefile("rb")
        assert self.hears().startswith("220 ")

    def says(self, data: bytes) -> None:
        self._socket.sendall(data)

    def hears(self) -> str:
        """The last line of the next reply."""
        while True:
            line = self._file.readline().decode()
            if line[3:4] != "-":
                return line.rstrip("\r\n")

    def asks(self, line: str) -> str:
        self.says(line.encode() + b"\r\n")
        return self.hears()

    def opens_data(self, *recipients: str, greeting: str = "LHLO x") -> list[str]:
        lines = [greeting, "MAIL FROM:<a@b.example>", *(f"RCPT TO:<{recipient}>" for recipient in recipients), "DATA"]
        return [self.asks(line) for line in lines]

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@pytest.fixture
def a_door() -> Iterator[Opening]:
    with ExitStack() as doors:

        def start(protocol: Literal["lmtp", "smtp"] = "lmtp", **changes: Any) -> Opened:
            opened = Opened(protocol=protocol, **changes)
            doors.callback(opened.door.stop)
            return opened

        yield start


def on_the_wire(original: bytes) -> bytes:
    """A message as mail programs put it on the wire: every line end CRLF, and one at the end."""
    wire = re.sub(rb"\r\n|\n|\r(?!\n)", b"\r\n", original)
    return wire if wire.endswith(b"\r\n") else wire + b"\r\n"


@pytest.mark.parametrize("protocol", ["lmtp", "smtp"])
def test_every_message_of_the_corpus_is_kept_byte_for_byte(
    a_door: Opening, messages: list[Path], protocol: Literal["lmtp", "smtp"]
) -> None:
    opened = a_door(protocol)
    with opened.client(smtplib.LMTP if protocol == "lmtp" else smtplib.SMTP) as client:
        for path in messages:
            client.sendmail("sender@a.example", ["ann@b.example"], on_the_wire(path.read_bytes()), ["BODY=8BITMIME"])
    assert [incoming.original for incoming in opened.kept] == [on_the_wire(path.read_bytes()) for path in messages]


ODD = {
    "dots": b".\r\n..\r\n...\r\n.x\r\n",
    "empty": b"",
    "blank line": b"\r\n",
    "bare line feeds": b"a\nb\n.\n.\r\n\n.\nc\r\n",
    "bare returns": b"a\rb\r.\rc\r\r\n",
    "nul and 8 bit": b"\0\xff\xfe\x80\r\n",
    "a line of a megabyte": b"x" * 1_000_000 + b"\r\n",
    "a long line that ends in a dot": b"x" * 65_535 + b".\r\nmore\r\n",
    "dots where the buffer ends": b"." * 200_000 + b"\r\n" + b"x" * 65_536 + b"\r\n.\r\n",
    "fake ends": b"a\n.\r\nb\r\n.\rc\r\n.\n\r\nd\r\n",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_bytes_are_kept_as_they_were_sent(a_door: Opening, name: str) -> None:
    opened = a_door()
    talk = opened.talk()
    assert talk.opens_data("ann@b.example")[-1].startswith("354 ")
    talk.says(re.sub(rb"(?:^|(?<=\r\n))\.", b"..", ODD[name]) + b".\r\n")
    assert talk.hears() == KEPT
    assert talk.asks("QUIT").startswith("221")
    talk.close()
    assert opened.kept == [Incoming("a@b.example", ("ann@b.example",), ODD[name])]


def test_no_mail_can_be_smuggled_inside_another(a_door: Opening) -> None:
    opened = a_door()
    talk = opened.talk()
    talk.opens_data("ann@b.example")
    inner = b"MAIL FROM:<boss@b.example>\r\nRCPT TO:<ann@b.example>\r\nDATA\r\nevil\r\n"
    ends = [b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r\n.\n", b"\r\n.\r"]
    body = b"".join(b"x" + end + inner for end in ends)
    talk.says(body + b".\r\n")
    assert talk.hears() == KEPT
    talk.close()
    assert len(opened.kept) == 1


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

    def deliver(incoming: Incoming) -> list[str]:
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

    def deliver(incoming: Incoming) -> list[str]:
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
    with a_door(knows=away).client() as client, pytest.raises(smtplib.SMTPRecipientsRefused) as nobody:
        client.sendmail("from@a.example", ["secret@b.example"], "Subject: secret\r\n\r\n")
    assert nobody.value.recipients["secret@b.example"][0] == 451
    assert "secret" not in caplog.text
    assert "ConnectionError" in caplog.text


def test_the_size_is_announced_and_kept_to(a_door: Opening) -> None:
    opened = a_door(max_bytes=100_000)
    with opened.client() as client:
        client.ehlo_or_helo_if_needed()
        assert client.esmtp_features["size"] == "100000"
        with pytest.raises(smtplib.SMTPSenderRefused) as announced:
            client.sendmail("a@b.example", ["ann@b.example"], b"x" * 100_001)
        assert announced.value.smtp_code == 552
    talk = opened.talk()
    talk.opens_data("a@b.example", "c@b.example")
    talk.says(b"x" * 60_000 + b"\r\n" + b"y" * 60_000 + b"\r\n.\r\n")
    assert [talk.hears()[:9] for _ in range(2)] == ["552 5.3.4"] * 2
    talk.says(b"MAIL FROM:<a@b.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\nsmall\r\n.\r\n")
    assert [talk.hears()[:3] for _ in range(4)] == ["250", "250", "354", "250"]
    assert talk.asks("NOOP").startswith("250")
    talk.close()
    assert [incoming.original for incoming in opened.kept] == [b"small\r\n"]
    assert opened.door.held_bytes == 0


def test_25_mb_of_empty_lines_and_30_mb_of_anything_do_not_blow_up_memory(a_door: Opening) -> None:
    opened = a_door(deliver=lambda incoming: [KEPT])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    talk = opened.talk()
    talk.opens_data("ann@b.example")
    for _ in range(24):
        talk.says(b"\r\n" * (512 * 1_024))
    talk.says(b".\r\n")
    assert talk.hears() == KEPT
    talk.opens_data("ann@b.example")
    for _ in range(30):
        talk.says((b"x" * 998 + b"\r\n") * 1_049)
    talk.says(b".\r\n")
    assert talk.hears().startswith("552 5.3.4 ")
    talk.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 * 1_024


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
