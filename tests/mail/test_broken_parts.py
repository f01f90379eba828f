"""Parts that programs wrote badly: a file stays a file, and a stray control character does not undo a decoding."""

import base64
from itertools import product

import pytest

from snoozer.mail import headers
from snoozer.mail.message_parser import parse, parse_attachments, parse_html, parse_reply

PDF = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<</Type/Catalog>> endobj"
BROKEN_TYPES = [
    "=?unknown-8bit?q?application/octet-stream=3B_?=\n =?unknown-8bit?q?_name=3D=22Gr=C3=B6=C3=9Fe=2Epdf=22?=",
    "=?utf-8?B?" + base64.b64encode("application/pdf; name=Größe.pdf".encode()).decode() + "?=",
    'pdf; name="Größe.pdf"',
    '; name="Größe.pdf"',
    'application; name="Größe.pdf"',
    ': application/pdf; name="Größe.pdf"',
    'Content-Type: application/pdf; name="Größe.pdf"',
    'application/; name="Größe.pdf"',
    '"application/pdf"; name="Größe.pdf"',
    "application/pdf name=Größe.pdf",
    "???; name*=utf-8''Gr%C3%B6%C3%9Fe.pdf",
]
DISPOSITIONS = [
    "",
    "Content-Disposition: =?unknown-8bit?q?attachment=3B_filename=3D=22Gr=C3=B6=C3=9Fe=2Epdf=22?=\n",
    'Content-Disposition: inline; filename="Größe.pdf"\n',
    "Content-Disposition: ?\n",
]


def a_message(part: str, *, content: bytes = PDF) -> bytes:
    encoded = f"{part}Content-Transfer-Encoding: base64\n\n{base64.encodebytes(content).decode()}"
    return (
        "From: ann@mail.example\nSubject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b1\n\n"
        f"--b1\nContent-Type: text/plain\n\nmain text\n--b1\n{encoded}\n--b1--\n"
    ).encode()


@pytest.mark.parametrize(("type", "disposition"), list(product(BROKEN_TYPES, DISPOSITIONS)))
def test_a_file_under_a_broken_header_is_a_file(type: str, disposition: str) -> None:
    original = a_message(f"Content-Type: {type}\n{disposition}")
    assert parse(original).text == "main text"
    [attached] = parse_attachments(original)
    assert (attached.shown.name, attached.content) == ("Größe.pdf", PDF)


@pytest.mark.parametrize(
    "type", ["", "Content-Type:\n", "Content-Type: pdf\n", "Content-Type: =?utf-8?q?=E2=80=A6?=\n"]
)
def test_a_file_without_type_and_name_is_a_file(type: str) -> None:
    original = a_message(type)
    assert parse(original).text == "main text"
    assert [attached.content for attached in parse_attachments(original)] == [PDF]


@pytest.mark.parametrize("type", ["text; name=notes.txt", "text", "plain", ""])
def test_text_under_a_broken_header_is_still_text(type: str) -> None:
    original = a_message(f"Content-Type: {type}\n", content=b"Second text.")
    assert parse(original).text == "main text\n\nSecond text."


def quoted_printable(body: str, *, type: str = "text/plain", around: bool = False) -> bytes:
    head = f"Content-Type: {type}; charset=UTF-8\nContent-Transfer-Encoding: quoted-printable\n\n{body}\n"
    if around:
        head = f"Content-Type: multipart/mixed; boundary=b\n\n--b\n{head}--b--\n"
    return f"From: ann@mail.example\nSubject: x\nMIME-Version: 1.0\n{head}".encode()


@pytest.mark.parametrize("type", ["text/plain", "text/html"])
@pytest.mark.parametrize(
    "place", ["{0}Gr=C3=BC=C3=9Fe an =\nalle", "Gr=C3=BC=C3=9Fe{0} an =\nalle", "Gr=C3=BC=C3=9Fe an =\nalle{0}"]
)
@pytest.mark.parametrize("code", [*range(9), 0x0B, *range(0x0E, 0x1B), 0x1C, 0x1D, 0x1E, 0x1F])
def test_a_control_character_is_dropped_and_the_rest_is_decoded(type: str, place: str, code: int) -> None:
    for written in (f"={code:02X}", f"={code:02X}={code:02X}"):
        for around in (False, True):
            original = quoted_printable(place.format(written), type=type, around=around)
            assert " ".join(parse(original).text.split()) == "Grüße an alle"
            assert "Grüße" in (parse_html(original) or "Grüße")


@pytest.mark.parametrize("body", ["size=08 of 10", "?id=0F3&x=zz or so", "x=1A y=1B and z = 5"])
def test_text_that_is_not_in_its_declared_encoding_stays_as_it_is(body: str) -> None:
    assert parse(quoted_printable(body)).text == body


@pytest.mark.parametrize(
    ("raw", "name", "email"),
    [
        ("ann (Ann Else)", "Ann Else", None),
        ("nsb (Nathaniel Borenstein)", "Nathaniel Borenstein", None),
        ("root (Cron Daemon)", "Cron Daemon", None),
        ("ann.else (=?utf-8?q?Ann_Gr=C3=BCn?=)", "Ann Grün", None),
        ("ann@mail.example (Ann Else)", "Ann Else", "ann@mail.example"),
        ("<ann@mail.example> (Ann Else)", "Ann Else", "ann@mail.example"),
        ("Ann Else (Sales)", "Ann Else (Sales)", None),
        ("Ann Else <ann@mail.example> (Sales)", "Ann Else", "ann@mail.example"),
        ("ann ()", "ann", None),
    ],
)
def test_a_name_in_a_comment_is_the_name(raw: str, name: str, email: str | None) -> None:
    assert headers.sender(raw) == headers.Sender(name, email)


@pytest.mark.parametrize("number", [1, 10, 300, 1_500, 6_000, 20_000])
@pytest.mark.parametrize("fold", ["\n ", " "])
def test_the_newest_ids_of_a_long_references_header_are_kept(number: int, fold: str) -> None:
    before = fold.join(f"<ref{n:05}.abcdefghijklmnopqrstuvwxyz@host.example>" for n in range(number))
    original = f"From: b@mail.example\nReferences: {before}{fold}<orig@mail.example>\nSubject: x\n\nYes.\n".encode()
    assert parse_reply(original).answers[-1] == "<orig@mail.example>"
    assert len(parse_reply(original).answers) <= 500
    with_id = original.replace(b"Subject: x", b"Message-ID: <own@mail.example>")
    assert parse(with_id).thread_ids[-2:] == ("<orig@mail.example>", "<own@mail.example>")
