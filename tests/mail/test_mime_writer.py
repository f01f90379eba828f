"""The bytes of a mail, and the last guard that reads them back."""

import email
import email.policy
import quopri
import re
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.parser import BytesHeaderParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from snoozer.mail.mime_writer import (
    FALLBACK_SUBJECT,
    MULTIPART,
    SOFT_BREAK,
    Field,
    RoundTripError,
    Text,
    format_mailbox,
    is_seven_bit,
    multipart,
    parses_as,
    quoted_piece,
    quoted_printable,
    write_fields,
)
from tests.mail.hostile import HOSTILE, HOSTILE_SUBJECT

FRAME: list[Field] = [("From", "s@s.example"), ("To", "a@b.example")]


def mail_of(fields: list[Field], *, text: str, html: str) -> bytes:
    body = multipart(text=quoted_printable(text), html=quoted_printable(html))
    return write_fields([*fields, *MULTIPART]) + b"\r\n" + body


def written(subject: str) -> bytes:
    return mail_of([*FRAME, ("Subject", Text(subject))], text="text", html="<p>html</p>")


def is_sound(mail: bytes) -> bool:
    return mail.isascii() and not re.search(rb"\r(?!\n)|(?<!\r)\n", mail) and max(map(len, mail.split(b"\r\n"))) <= 78


@given(st.lists(st.sampled_from([b"\r", b"\n", b"\r\n", b".", b"a", b"\0", b"\xe9"])).map(b"".join))
def test_only_whole_line_breaks_and_seven_bits_go_out(data: bytes) -> None:
    bare = re.search(rb"\r(?!\n)|(?<!\r)\n", data)
    assert is_seven_bit(data) is (data.isascii() and b"\0" not in data and not bare)


@given(subject=st.text(st.characters(), max_size=200))
def test_no_subject_changes_anything_but_the_subject(subject: str) -> None:
    mail = written(subject)
    assert is_sound(mail)
    read = email.message_from_bytes(mail, policy=email.policy.compat32)
    assert read.keys() == ["From", "To", "Subject", "MIME-Version", "Content-Type"]
    assert [part.get_content_type() for part in read.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    assert mail.partition(b"\r\n\r\n")[2] == written("plain").partition(b"\r\n\r\n")[2]


def test_the_machines_own_library_would_have_been_injected() -> None:
    """CVE-2024-6923: where this passes with an injected header, only our own writing protects the reminder."""
    message = EmailMessage(policy=email.policy.SMTP)
    message["Subject"] = HOSTILE_SUBJECT
    message.set_content("text")
    try:
        by_the_library = message.as_bytes()
    except (email.errors.MessageError, ValueError):
        by_the_library = b""
    injected = b"\r\n\r\n<h1>evil</h1>" in by_the_library
    ours = written(HOSTILE_SUBJECT)
    assert b"<h1>" not in ours.partition(b"\r\n\r\n")[0]
    read = email.message_from_bytes(ours, policy=email.policy.default)
    assert read["Subject"] == HOSTILE_SUBJECT
    assert read.get_content_type() == "multipart/alternative"
    if injected:
        head, _, body = by_the_library.partition(b"\r\n\r\n")
        assert not parses_as(by_the_library, [("Subject", Text(HOSTILE_SUBJECT))], body), head


@pytest.mark.parametrize(
    "subject",
    ["é" * 200, "word " * 39, "x" * 199, "日本" * 99, "🎉" * 100, " leading", "trailing ", "", "=?utf-8?q?hi?="],
)
def test_long_and_foreign_subjects_come_back_whole(subject: str) -> None:
    read = email.message_from_bytes(written(subject), policy=email.policy.compat32)
    decoded = str(email.header.make_header(email.header.decode_header(read["Subject"])))
    assert decoded == subject
    assert is_sound(written(subject))


@given(subjects=st.lists(HOSTILE | st.text(" !~a:=?", max_size=90), max_size=4))
@example(subjects=[" b", "a", ""])
@example(subjects=["a\r\nBcc: x@y.example", "a\r\n", "\r\n\r\nb", "\n a"])
@example(subjects=["=?utf-8?q?a=0D=0ABcc:_x?=", "=?utf-8?b?YQ==?="])
def test_fields_side_by_side_are_read_as_they_were_meant(subjects: list[str]) -> None:
    """Fields are checked one by one, and a plain line not even read back."""
    block = write_fields([*FRAME, *(("Subject", Text(subject)) for subject in subjects), *MULTIPART])
    assert is_sound(block)
    found = BytesHeaderParser(policy=email.policy.compat32).parsebytes(block + b"\r\n").items()
    meant = [subject if is_text(subject) else FALLBACK_SUBJECT for subject in subjects]
    assert [name for name, _ in found] == ["From", "To", *("Subject" for _ in subjects), "MIME-Version", "Content-Type"]
    read = [str(make_header(decode_header(str(value)))) for name, value in found if name == "Subject"]
    assert read == meant


def is_text(subject: str) -> bool:
    """Whether UTF-8 can write it."""
    return subject.encode("utf-8", "replace").decode() == subject


def test_what_reads_back_differently_is_replaced_by_a_plain_subject() -> None:
    lone = "before \ud800 after"
    read = email.message_from_bytes(written(lone), policy=email.policy.default)
    assert read["Subject"] == FALLBACK_SUBJECT


def test_the_guard_sees_every_kind_of_difference() -> None:
    fields: list[Field] = [("From", "s@s.example"), ("Subject", Text("hi"))]
    good = b"From: s@s.example\r\nSubject: hi\r\n\r\nbody\r\n"
    assert parses_as(good, fields, b"body\r\n")
    for bad in (
        b"From: s@s.example\r\nSubject: hi\r\nBcc: x@y.example\r\n\r\nbody\r\n",
        b"From: s@s.example\r\nSubject: ho\r\n\r\nbody\r\n",
        b"Subject: hi\r\nFrom: s@s.example\r\n\r\nbody\r\n",
        b"From: s@s.example\r\n\r\nSubject: hi\r\n\r\nbody\r\n",
        b"From: s@s.example\r\nSubject: hi\n\r\n\r\nbody\r\n",
        b"From: s@s.example\r\nSubject: hi\r\n ho\r\n\r\nbody\r\n",
        b"From: s@s.example\r\nSubject: =?utf-8?q?hi=0D=0ABcc:_x@y.example?=\r\n\r\nbody\r\n",
        b"From: s@s.example\r\nSubject:  hi \r\n\r\nbody\r\n",
        b"From: s@s.example\r\nSubject: hi\rBcc: x@y.example\r\n\r\nbody\r\n",
        b"From: s@s.example\nSubject: hi\r\n\r\nbody\r\n",
        b"From: s@s.example\r\nSubject: h\xe9\r\n\r\nbody\r\n",
        b"From: s@s.example\r\nSubject: hi\r\n",
        b"From: s@s.example\r\nSubject: hi\r\n\r\n\r\nbody\r\n",
    ):
        assert not parses_as(bad, fields, b"body\r\n"), bad


PLAIN = st.builds(
    "{}: {}{}".format,
    st.sampled_from(["Subject", "X-1", "x"]),
    st.text(" !~a:=?", max_size=6),
    st.sampled_from(["", "", "\r\n b: c", "\r\n  b"]),
)
AMBIGUOUS = st.sampled_from(
    [
        *("Subject", "X 1", "1", "", ":", ": ", " ", "\t", "From ", "a: b", "=?utf-8?q?=0D=0AX=3A_y?=", "!", "~"),
        *("\r", "\n", "\r\n", "\r\n ", "\r\n\t", "\x0b", "\x0c", "\x1c", "\x7f", "\xa0", "\u2028"),
    ]
)
HEADS = st.lists(PLAIN | st.lists(AMBIGUOUS, max_size=4).map("".join), max_size=4).map("\r\n".join)


@given(head=HEADS.map(str.encode))
@example(head=b"Subject:  hi")
@example(head=b"Subject:hi")
@example(head=b"Subject: hi\r\n\tho")
@example(head=b"X 1: hi")
@example(head=b" hi\r\nSubject: ho")
def test_the_guard_finds_what_the_librarys_parser_finds(head: bytes) -> None:
    """It reads a plain head by itself, and only where the parser would find the same fields."""
    head, blank, _ = (head + b"\r\n\r\n").partition(b"\r\n\r\n")
    found = BytesHeaderParser(policy=email.policy.compat32).parsebytes(head + blank).items()
    fields: list[Field] = [(name, re.sub(r"\r\n(?=[ \t])", "", str(value))) for name, value in found]
    assert parses_as(head + b"\r\n\r\nbody\r\n", fields, b"body\r\n") is is_seven_bit(head)
    assert not parses_as(head + b"\r\n\r\nbody\r\n", [*fields, ("Bcc", "x@y.example")], b"body\r\n")


@pytest.mark.parametrize("value", ["a\r\nBcc: x", "a\nb", "é", "", "a\0b"])
def test_a_field_that_is_no_printable_ascii_is_a_mistake_of_ours(value: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII"):
        write_fields([("X-Snoozer-Instance", value)])


def test_a_field_that_only_the_guard_would_catch_makes_no_mail() -> None:
    with pytest.raises(RoundTripError, match="reads back differently"):
        write_fields([("X-Snoozer-Instance", " begins with a space")])


def test_bodies_come_back_as_they_were() -> None:
    text = "a line\n.\n..\nFrom here\n" + "é" * 300 + "\ntrailing space \ntab\t\n=3D\n" + "x" * 1_000
    mail = mail_of(FRAME, text=text, html=f"<p>{text}</p>")
    assert is_sound(mail)
    read = email.message_from_bytes(mail, policy=email.policy.default)
    assert isinstance(read, EmailMessage)
    plain, html = read.get_body(("plain",)), read.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert plain.get_content().replace("\r\n", "\n") == text
    assert html.get_content().replace("\r\n", "\n") == f"<p>{text}</p>"


@pytest.mark.parametrize(
    ("name", "written_as"),
    [
        (None, "s@s.example"),
        ("Snoozer", "Snoozer <s@s.example>"),
        ('Say "x"', '"Say \\"x\\"" <s@s.example>'),
        ("a\r\nBcc: x", '"a Bcc: x" <s@s.example>'),
        ("Jörg", "=?utf-8?b?SsO2cmc=?= <s@s.example>"),
    ],
)
def test_a_mailbox_is_written_so_that_it_stays_one(name: str | None, written_as: str) -> None:
    assert format_mailbox(name, "s@s.example") == written_as


@pytest.mark.parametrize("address", ["s@s.example\r\nBcc: x@y", "s@s.example>", "a@b, c@d", "jörg@example.com", ""])
def test_a_mailbox_needs_a_plain_address(address: str) -> None:
    with pytest.raises(ValueError, match="plain address"):
        format_mailbox("Snoozer", address)


@given(pieces=st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.text("a. \t\nF", max_size=90)))
@example(pieces=["a\r", "\n"])
@example(pieces=["a" * 75, "a" * 76, "From here", ".", ".\n.", " ", "\t", "a ", "\n", "", "=", "é" * 99])
def test_pieces_between_soft_line_breaks_are_read_as_they_were(pieces: list[str]) -> None:
    written = SOFT_BREAK.join([quoted_piece(piece) for piece in pieces])
    assert written.isascii()
    assert max(map(len, written.split(b"\r\n"))) <= 76
    assert not re.search(rb"\r(?!\n)|(?<!\r)\n", written)
    starts = [quoted_piece(piece) for piece in pieces]
    assert not any(start.startswith((b".", b"From ")) for start in starts)
    # Each by itself: a piece that ends with a carriage return has ended a line.
    whole = "".join(piece.replace("\r\n", "\n").replace("\r", "\n") for piece in pieces)
    assert quopri.decodestring(written).decode().replace("\r\n", "\n") == whole


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
@example(text="\r\n\ra\r")
@example(text="a" * 75 + " \nb")
@example(text=". \t\n.\n..\n" + "é" * 99)
def test_quoted_printable_is_read_back_as_it_was(text: str) -> None:
    written = quoted_printable(text)
    assert written.isascii()
    assert max(map(len, written.split(b"\r\n"))) <= 76
    assert b"\r" not in written.replace(b"\r\n", b"")
    read = quopri.decodestring(written).decode().replace("\r\n", "\n")
    assert read == text.replace("\r\n", "\n").replace("\r", "\n")
