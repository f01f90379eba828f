"""What was sent is what is stored: every odd byte, no message inside another, no more than fits in memory."""

import gc
import re
import resource
import smtplib
import threading
import time
import tracemalloc
from typing import Literal

import pytest

from snoozer.mailboxes.inbound.lmtp_server import IncomingMail
from tests.mail.inbound_servers import KEPT, StartServer

ODD = {
    "dots": b".\r\n..\r\n...\r\n.x\r\n",
    "empty": b"",
    "blank line": b"\r\n",
    "bare line feeds": b"a\nb\n\nc\n.d\r\n",
    "bare returns": b"a\rb\r\rc\r\r\n",
    "nul and 8 bit": b"\0\xff\xfe\x80\r\n",
    "a line of a megabyte": b"x" * 1_000_000 + b"\r\n",
    "a long line that ends in a dot": b"x" * 65_535 + b".\r\nmore\r\n",
    "dots where the buffer ends": b"." * 200_000 + b"\r\n" + b"x" * 65_536 + b"\r\n.\r\n",
}


def as_sent(original: bytes) -> bytes:
    """A message as mail programs send it: every line end CRLF, and one at the end."""
    sent = re.sub(rb"\r\n|\n|\r(?!\n)", b"\r\n", original)
    return sent if sent.endswith(b"\r\n") else sent + b"\r\n"


@pytest.mark.parametrize("protocol", ["lmtp", "smtp"])
def test_every_message_of_the_corpus_is_kept_byte_for_byte(
    start_server: StartServer, messages: dict[str, bytes], protocol: Literal["lmtp", "smtp"]
) -> None:
    server = start_server(protocol)
    with server.client(smtplib.LMTP if protocol == "lmtp" else smtplib.SMTP) as client:
        for original in messages.values():
            client.sendmail("sender@a.example", ["ann@b.example"], as_sent(original), ["BODY=8BITMIME"])
    assert [incoming.original for incoming in server.stored] == [as_sent(original) for original in messages.values()]


@pytest.mark.parametrize("name", ODD)
def test_odd_bytes_are_kept_as_they_were_sent(start_server: StartServer, name: str) -> None:
    server = start_server()
    session = server.connect()
    assert session.open_data("ann@b.example")[-1].startswith("354 ")
    session.send(re.sub(rb"(?:^|(?<=\r\n))\.", b"..", ODD[name]) + b".\r\n")
    assert session.read_reply() == KEPT
    assert session.command("QUIT").startswith("221")
    session.close()
    assert server.stored == [IncomingMail("a@b.example", ("ann@b.example",), ODD[name])]


@pytest.mark.parametrize("end", [b"\n.\n", b"\n.\r\n", b"\r.\r", b"\r.\n", b"\r\n.\n", b"\r\n.\r"])
def test_no_mail_can_be_smuggled_inside_another(start_server: StartServer, end: bytes) -> None:
    server = start_server()
    session = server.connect()
    session.open_data("ann@b.example")
    inner = b"MAIL FROM:<boss@b.example>\r\nRCPT TO:<ann@b.example>\r\nDATA\r\nevil\r\n"
    session.send(b"x" + end + inner + b".\r\n")
    assert session.read_reply().startswith("550 5.6.11 ")
    assert session.command("NOOP").startswith("250 ")
    session.close()
    assert server.stored == []


def test_the_size_is_announced_and_kept_to(start_server: StartServer) -> None:
    server = start_server(max_bytes=100_000)
    with server.client() as client:
        client.ehlo_or_helo_if_needed()
        assert client.esmtp_features["size"] == "100000"
        with pytest.raises(smtplib.SMTPSenderRefused) as announced:
            client.sendmail("a@b.example", ["ann@b.example"], b"x" * 100_001)
        assert announced.value.smtp_code == 552
    session = server.connect()
    session.open_data("a@b.example", "c@b.example")
    session.send(b"x" * 60_000 + b"\r\n" + b"y" * 60_000 + b"\r\n.\r\n")
    assert [session.read_reply()[:9] for _ in range(2)] == ["552 5.3.4"] * 2
    session.send(b"MAIL FROM:<a@b.example>\r\nRCPT TO:<a@b.example>\r\nDATA\r\nsmall\r\n.\r\n")
    assert [session.read_reply()[:3] for _ in range(4)] == ["250", "250", "354", "250"]
    assert session.command("NOOP").startswith("250")
    session.close()
    assert [incoming.original for incoming in server.stored] == [b"small\r\n"]
    assert server.inbound.held_bytes == 0


def test_25_mb_of_empty_lines_and_30_mb_of_anything_do_not_blow_up_memory(start_server: StartServer) -> None:
    server = start_server(deliver=lambda incoming: [KEPT])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    session = server.connect()
    session.open_data("ann@b.example")
    for _ in range(24):
        session.send(b"\r\n" * (512 * 1_024))
    session.send(b".\r\n")
    assert session.read_reply() == KEPT
    session.open_data("ann@b.example")
    for _ in range(30):
        session.send((b"x" * 998 + b"\r\n") * 1_049)
    session.send(b".\r\n")
    assert session.read_reply().startswith("552 5.3.4 ")
    session.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150 * 1_024


def test_what_a_vanished_sender_sent_is_forgotten_at_once(start_server: StartServer) -> None:
    gone = threading.Event()
    server = start_server(deliver=lambda incoming: [KEPT] if gone.wait(60) else [])
    gc.disable()
    tracemalloc.start()
    try:
        for end in [b"", b"\r\n.\r\n"] * 2:
            session = server.connect()
            session.open_data("ann@b.example")
            session.send(b"x" * 4 * 1024 * 1024 + end)
            session.close()
        watcher, until = server.connect(), time.monotonic() + 60
        while len(server.inbound.connections) > 1:
            watcher.command("NOOP")
        gone.set()
        while tracemalloc.get_traced_memory()[0] > 3 * 1024 * 1024:
            assert time.monotonic() < until
            watcher.command("NOOP")
        watcher.close()
    finally:
        tracemalloc.stop()
        gc.enable()
