"""What was on the wire is what is kept: every odd byte, no mail inside another, no more than there is room for."""

import gc
import re
import resource
import smtplib
import threading
import time
import tracemalloc
from typing import Literal

import pytest

from snoozer.inbound.lmtp_server import IncomingMail
from tests.mail.inbound_servers import KEPT, Opening

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


def on_the_wire(original: bytes) -> bytes:
    """A message as mail programs put it on the wire: every line end CRLF, and one at the end."""
    wire = re.sub(rb"\r\n|\n|\r(?!\n)", b"\r\n", original)
    return wire if wire.endswith(b"\r\n") else wire + b"\r\n"


@pytest.mark.parametrize("protocol", ["lmtp", "smtp"])
def test_every_message_of_the_corpus_is_kept_byte_for_byte(
    a_door: Opening, messages: dict[str, bytes], protocol: Literal["lmtp", "smtp"]
) -> None:
    opened = a_door(protocol)
    with opened.client(smtplib.LMTP if protocol == "lmtp" else smtplib.SMTP) as client:
        for original in messages.values():
            client.sendmail("sender@a.example", ["ann@b.example"], on_the_wire(original), ["BODY=8BITMIME"])
    assert [incoming.original for incoming in opened.kept] == [on_the_wire(original) for original in messages.values()]


@pytest.mark.parametrize("name", ODD)
def test_odd_bytes_are_kept_as_they_were_sent(a_door: Opening, name: str) -> None:
    opened = a_door()
    talk = opened.talk()
    assert talk.opens_data("ann@b.example")[-1].startswith("354 ")
    talk.says(re.sub(rb"(?:^|(?<=\r\n))\.", b"..", ODD[name]) + b".\r\n")
    assert talk.hears() == KEPT
    assert talk.asks("QUIT").startswith("221")
    talk.close()
    assert opened.kept == [IncomingMail("a@b.example", ("ann@b.example",), ODD[name])]


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


def test_what_a_vanished_sender_sent_is_forgotten_at_once(a_door: Opening) -> None:
    gone = threading.Event()
    opened = a_door(deliver=lambda incoming: [KEPT] if gone.wait(10) else [])
    gc.disable()
    tracemalloc.start()
    try:
        for end in [b"", b"\r\n.\r\n"] * 2:
            talk = opened.talk()
            talk.opens_data("ann@b.example")
            talk.says(b"x" * 4 * 1024 * 1024 + end)
            talk.close()
        watcher, until = opened.talk(), time.monotonic() + 10
        while len(opened.door.connections) > 1:
            watcher.asks("NOOP")
        gone.set()
        while tracemalloc.get_traced_memory()[0] > 3 * 1024 * 1024:
            assert time.monotonic() < until
            watcher.asks("NOOP")
        watcher.close()
    finally:
        tracemalloc.stop()
        gc.enable()
