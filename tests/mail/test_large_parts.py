"""Parts of 25 MB in each transfer encoding: their files are read in less than a second and in little memory. Lists of
their lines took seconds and hundreds of MB, and so did the reading of whole calendars."""

import re
import time
from pathlib import Path

import pytest

from snoozer.mail.message_parser import parse, parse_attachments

LARGE = 25_000_000
CPU_SECONDS = 2.0
MEMORY_KB = 200 * 1024
ENCODINGS = {"base64": b"", "quoted-printable": b"", "x-uuencode": b"begin 644 a\n", "7bit": b""}


@pytest.mark.parametrize("piece", [b"\r\n", b"a\n", b"a!", b"= \r\n", b"=00", b"\x1b$B", b"#0V%T\n"])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", ["application/pdf", "text/calendar"])
def test_a_large_part_takes_neither_a_second_nor_much_memory(kind: str, encoding: str, piece: bytes) -> None:
    head = f"Content-Type: {kind}\nContent-Transfer-Encoding: {encoding}\n\n".encode()
    original = head + ENCODINGS[encoding] + piece * (LARGE // len(piece))
    process = Path("/proc/self")

    def memory(field: str) -> int:
        return int(re.findall(rf"^{field}:\s+(\d+)", (process / "status").read_text(), re.MULTILINE)[0])

    (process / "clear_refs").write_text("5")
    before, started = memory("VmRSS"), time.process_time()
    parts = parse_attachments(original)
    assert time.process_time() - started < CPU_SECONDS
    assert memory("VmHWM") - before < MEMORY_KB
    assert len(parts) <= 1


@pytest.mark.parametrize("encoding", ["base64", "x-uuencode"])
def test_a_large_file_in_ordinary_lines_is_whole(encoding: str) -> None:
    """More lines than any other program writes for 25 MB are no longer lines; these still are."""
    line = {"base64": b"QUJD" * 12 + b"QQ==\r\n", "x-uuencode": b"M" + b"1234" * 15 + b"\r\n"}[encoding]
    head = f"Content-Type: application/pdf\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n".encode()
    count = LARGE // len(line)
    [part] = parse_attachments(head + ENCODINGS[encoding] + line * count)
    assert len(part.content) == count * {"base64": 37, "x-uuencode": 45}[encoding]


def test_files_behind_more_text_than_is_read_are_whole_and_in_the_order_of_the_page() -> None:
    part = b"--b\nContent-Type: %s\nContent-Disposition: attachment; filename=%d.txt\n\n%s\n"
    kinds = (b"text/calendar", b"text/plain", b"application/pdf")
    parts = b"".join(part % (kind, number, b"x" * 900_000) for number, kind in enumerate(kinds * 3))
    original = b"Content-Type: multipart/mixed; boundary=b\n\n" + parts + b"--b--\n"
    found = parse_attachments(original)
    assert [each.shown for each in found] == list(parse(original).attachments)
    assert [each.content for each in found] == [b"x" * 900_000] * 9


@pytest.mark.parametrize("before", [b"", b"::;", b"@", b"x@y, "])
def test_a_long_word_is_searched_for_addresses_once(before: bytes) -> None:
    """That took quadratic time: 20 recipients of 8 kB were a second."""
    long = b"%s%s" % (before, b"x" * 8_000)
    started = time.process_time()
    for _ in range(20):
        parse(b"From: %s\nTo: %s\n\nx" % (long, long))
    assert time.process_time() - started < CPU_SECONDS
