"""Texts in shapes that real mail has, each with what mail programs show of it."""

from base64 import b64encode
from collections.abc import Callable

import pytest

from snoozer.mail.message_parser import parse

PICTURE = "Content-Type: image/png; name=a.png\nContent-Transfer-Encoding: base64\n\n" + f"{'A' * 76}\n" * 40_000
MESSAGE = "Content-Type: message/rfc822\n\nFrom: bob@b.example\nSubject: One\n\nFirst."
PAGE = "Content-Type: text/html\n\n"


def multipart(kind: str, *parts: str, boundary: str = "b") -> str:
    inner = "".join(f"--{boundary}\n{part}\n" for part in parts)
    return f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n{inner}--{boundary}--\n'


def text_of(rest: str) -> str:
    """The text of a message, its blanks and line breaks as one blank each."""
    return " ".join(parse(f"Subject: x\n{rest}".replace("\n", "\r\n").encode()).text.split())


@pytest.mark.parametrize(
    ("rest", "text"),
    [
        (multipart("mixed", "\nHead", multipart("digest", MESSAGE, boundary="c"), "\nFoot"), "Head {} Foot"),
        (multipart("mixed", "\nSee below.", MESSAGE), "See below. {}"),
        (multipart("mixed", "\nSee.", MESSAGE.replace("\n", "\nContent-Disposition: attachment\n", 1)), "See."),
        (multipart("report", "\nNot delivered.", MESSAGE), "Not delivered."),
        (multipart("mixed", MESSAGE), "First."),
        (multipart("mixed", "\nOne", "Content-Type: text/enriched\n\n<bold>two</bold> <<x>"), "One two <x>"),
        (multipart("mixed", "\nOne", "Content-Type: text/x-patch\n\n+++ b"), "One +++ b"),
        (multipart("mixed", "\nOne", "Content-Type: text/calendar\n\nBEGIN:VCALENDAR"), "One"),
        (multipart("mixed", f"{PAGE[:-2]}; name=mail.html\n\n<p>One", "\nFoot"), "One Foot"),
        (multipart("mixed", "\nOne", f"{PAGE[:-2]}; name=mail.html\n\n<p>Two"), "One"),
        (multipart("mixed", "\nOne", "Content-Disposition: attachment filename=x\n\nTwo"), "One"),
        (multipart("alternative", "\nNo HTML?", f"{PAGE}<p>{'words ' * 50}"), " ".join(["words"] * 50)),
        (multipart("alternative", "\n", "Content-Type: text/x-amp-html\n\nNo", f"{PAGE}Yes"), "Yes"),
        (multipart("alternative", "\nYes", "Content-Type: text/x-amp-html\n\nNo"), "Yes"),
        (multipart("mixed", PICTURE, "\nFrom my phone"), "From my phone"),
        (multipart("mixed", "\nOne", PICTURE, "\ntwo", PICTURE, f"{PAGE}<p>three"), "One two three"),
        (
            "Content-Type: multipart/mixed; boundary=b\n--b\nContent-Type: text/plain\n\nOne\n--b\n\ntwo\n--b--",
            "One two",
        ),
        (multipart("mixed", "http://a.example/x\nand more"), "http://a.example/x and more"),
        ("Dear Bob,\n\nall is well.", "Dear Bob, all is well."),
        ("Content-Type: html\n\n<p>One", "One"),
        ("Content-Type: text/htm\n\n<p>One", "One"),
        ("Content-Type: text/plain; format=flowed\n\nDear Bob, \n\none \ntwo", "Dear Bob, one two"),
        ("Content-Transfer-Encoding: quoted-printable\n\none =  \ntwo", "one two"),
        ("Content-Type: text/richtext\n\n<bold>One</bold><nl><lt>two", "One <two"),
    ],
)
def test_a_text_is_shown_wherever_it_is(rest: str, text: str) -> None:
    assert text_of(rest) == text.format("From: bob@b.example Subject: One First.")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<pre>one\n  two</pre>", "one\n  two"),
        ("<!-->one<!--->two<!-- no --!>three", "onetwothree"),
        ("<noscript>one</noscript><object data=x>two</object>", "onetwo"),
        ("<title>Offer<body>one", "Offer\none"),
        ("<title>Offer</title><body>one", "one"),
        ("<html><body>one</body></html><html><body>two", "one\n\ntwo"),
        ("<a href='http://a.example/'>http://a.example</a>", "http://a.example"),
    ],
)
def test_a_page_is_read_as_without_scripts(html: str, text: str) -> None:
    assert parse(f"{PAGE}{html}".encode()).text == text


def test_line_breaks_that_became_two_are_one() -> None:
    rest = multipart("mixed", "\nOne\ntwo").replace("\n", "\r\r\n")
    assert parse(f"Subject: x\r\r\n{rest}".encode()).text == "One\ntwo"


def test_a_line_in_front_of_the_header_is_no_part_of_it() -> None:
    read = parse(b"HTTP/1.1 200 OK\r\nSubject: x\r\n\r\nOne")
    assert (read.subject, read.text) == ("x", "One")


def test_a_forwarded_message_is_an_attachment_too_but_its_parts_are_not() -> None:
    forwarded = MESSAGE.partition("From")[0] + multipart("mixed", PICTURE, boundary="c")
    read = parse(multipart("mixed", "\nOne", forwarded).encode())
    assert [attachment.type for attachment in read.attachments] == ["message/rfc822"]


def test_the_size_of_what_is_not_read_is_estimated() -> None:
    read = parse(multipart("mixed", PICTURE, "\nOne").encode())
    assert abs(read.attachments[0].size - 40_000 * 57) < 1_000
    assert not read.cut


def der(tag: int, *content: bytes) -> bytes:
    inner = b"".join(content)
    return bytes((tag, 0x82)) + len(inner).to_bytes(2, "big") + inner


def ber(tag: int, *content: bytes) -> bytes:
    """An element whose length is left open."""
    return bytes((tag, 0x80)) + b"".join(content) + b"\0\0"


@pytest.mark.parametrize("outer", [der, ber])
@pytest.mark.parametrize(("kind", "text"), [(2, "Signed."), (3, "")])
def test_a_message_inside_of_its_signature_is_read(outer: Callable[..., bytes], kind: int, text: str) -> None:
    pkcs7 = bytes.fromhex("06092a864886f70d0107")
    entity = b"Content-Type: text/plain; charset=utf-8\r\n\r\nSigned."
    octets = der(0x04, entity) if outer is der else ber(0x24, der(0x04, entity[:20]), der(0x04, entity[20:]))
    content = outer(0x30, pkcs7 + b"\1", outer(0xA0, octets))
    signed = outer(0x30, der(0x02, b"\1"), der(0x31), content)
    whole = outer(0x30, pkcs7 + bytes([kind]), outer(0xA0, signed))
    head = b"Content-Type: application/pkcs7-mime; name=smime.p7m\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    assert parse(head + b64encode(whole)).text == text
    assert parse(head + b64encode(whole[:30])).text == ""
