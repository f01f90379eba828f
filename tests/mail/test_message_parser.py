"""Reading what strangers send: always an Original, never an exception, never long."""

import re
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoozer.mail.html_to_text import html_to_text
from snoozer.mail.message_parser import Attachment, ParsedMessage, parse, parse_attachments, parse_html
from snoozer.mail.structure import MAX_PARTS
from tests import corpus

HIDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

# What the messages without a readable subject or sender have instead: nothing, and the caller shows that.
NO_SUBJECT = {
    *("error_emails__content_transfer_encoding_spam", "error_emails__weird_to_header", "rfc2822__example03"),
    *("plain_emails__raw_email5", "plain_emails__raw_email6", "plain_emails__raw_email10"),
    *("rfc2822__example04", "rfc2822__example10", "rfc2822__example11"),
}
NO_SENDER = {"error_emails__bad_encoded_subject"}


def is_harmless(original: ParsedMessage) -> bool:
    lines = [original.subject, original.sender_name, original.sender_email, original.message_id, original.in_reply_to]
    lines += [field for attachment in original.attachments for field in (attachment.name, attachment.type)]
    people = (*original.to.mailboxes, *original.cc.mailboxes)
    lines += [field for person in people for field in (person.name, person.email)]
    people = (*original.to.mailboxes, *original.cc.mailboxes)
    lines += [field for person in people for field in (person.name, person.email)]
    return not any(HIDING.search(line) or "\n" in line for line in lines if line) and not HIDING.search(
        original.text.replace("\n", "")
    )


def test_every_message_of_the_corpus_has_a_subject_and_a_sender_to_show(real_messages: dict[str, bytes]) -> None:
    assert len(real_messages) == 103
    found = {name: parse(original) for name, original in real_messages.items()}
    assert {name for name, original in found.items() if original.subject is None} == NO_SUBJECT
    assert {name for name, original in found.items() if original.sender_email is None} == NO_SENDER
    assert all(is_harmless(original) for original in found.values())
    assert not [name for name, original in found.items() if "<p>" in (original.subject or "") or "=?" in str(original)]


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("plain_emails__raw_email", "subject", "NOTE: 한국말로 하는 것"),
        ("plain_emails__raw_email_with_partially_quoted_subject", "subject", 'Re: Test: "漢字" mid "漢字" tail'),
        ("error_emails__bad_subject", "subject", "MySurvey.com: You have a survey waiting! 91123105"),
        ("error_emails__bad_subject", "sender_name", "MySurvey.com & Carol Adams"),
        ("error_emails__bad_encoded_subject", "subject", "TEST"),
        ("rfc2822__example14", "subject", "Re: TEST テストテスト"),
        ("rfc2822__example13", "sender_email", "jdoe@machine.example"),
        ("rfc2822__example10", "sender_name", "Pete"),
        ("rfc6532__utf8_headers", "sender_email", "jdöe@mächine.example"),
        ("multi_charset__japanese_iso_2022", "text", "すみません。"),
        ("multi_charset__ks_c_5601-1987", "text", "스티해"),
        ("error_emails__multiple_content_types", "text", "foo"),
        ("rfc2822__example13", "message_id", None),
        ("rfc2822__example12", "date", datetime(1997, 11, 21, 9, 55, 6, tzinfo=UTC)),
    ],
)
def test_what_a_person_sees_of_the_difficult_ones(
    real_messages: dict[str, bytes], name: str, field: str, value: object
) -> None:
    assert getattr(parse(real_messages[name]), field) == value


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("header_utf8_raw", "subject", "Grüße aus Köln"),
        ("header_latin1_raw", "subject", "Grüße aus Köln"),
        ("header_encoded_q", "subject", "Grüße aus Köln"),
        ("header_encoded_split_character", "subject", "漢字"),
        ("header_no_subject", "subject", None),
        ("header_two_subjects", "subject", "first"),
        ("header_bad_date", "date", None),
        ("from_quoted_comma", "sender_name", "Berg, Ann"),
        ("from_encoded", "sender_name", "Jörg"),
        ("from_missing", "sender_email", None),
        ("charset_05", "text", "漢字"),
        ("multipart_no_end", "text", "One part."),
        ("encoding_unknown", "text", "Text."),
    ],
)
def test_what_a_person_sees_of_the_generated_ones(name: str, field: str, value: object) -> None:
    made = corpus.generated_headers() | corpus.generated_charsets() | corpus.generated_structures()
    assert getattr(parse(made[name]), field) == value


def test_every_generated_message_is_shown_without_harm() -> None:
    made = corpus.generated_headers() | corpus.generated_charsets() | corpus.generated_structures()
    assert [name for name, original in made.items() if not is_harmless(parse(original))] == []


@given(junk=st.binary(max_size=3_000))
def test_any_bytes_are_an_original(junk: bytes) -> None:
    assert is_harmless(parse(junk))


PIECES = [
    *(
        b"Subject: ",
        b"From: ",
        b"Date: ",
        b"Message-ID: ",
        b"Content-Type: multipart/mixed; boundary=b",
        b"--b",
        b"--b--",
    ),
    *(
        b"Content-Type: text/html; charset=",
        b"utf-7",
        b"punycode",
        b"iso-2022-jp",
        b"zlib",
        b"Content-Type: message/rfc822",
    ),
    *(b"Content-Transfer-Encoding: base64", b"Content-Transfer-Encoding: quoted-printable", b"=?utf-8?b?", b"?=", b"="),
    *(
        b"Content-Disposition: attachment; filename*0*=utf-8''",
        b"filename*1=",
        b"<a href='",
        b"<script>",
        b"<!--",
        b"&#0;",
    ),
    *(b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"\0", b"\xff", b" ", b"\t", b'"', b"(", b"Mon, 32 Foo 99999 99:99 +9999"),
]


@given(junk=st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join))
def test_any_broken_message_is_an_original(junk: bytes) -> None:
    assert is_harmless(parse(junk))


BOMBS = {
    "nested parts": b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(20_000)),
    "many parts": b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 150_000,
    "comments": b"From: " + b"(" * 1_000_000,
    "quotes": b"From: " + b'"' * 1_000_000,
    "encoded words": b"Subject: " + b"=?utf-8?q?a?= " * 70_000,
    "open encoded words": b"Subject: " + b"=?utf-8?q?" * 100_000,
    "folds": b"Subject: x\n" + b" y\n" * 300_000,
    "headers": b"A: b\n" * 200_000,
    "parameters": b"Content-Type: text/plain" + b'; a="' * 200_000,
    "boundary of dashes": b"Content-Type: multipart/mixed; boundary=-\n\n" + b"\n---  " * 150_000,
    "soft breaks": b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=" * 1_000_000,
    "escapes": b"Content-Type: text/plain; charset=iso-2022-jp\n\n" + b"\x1b$B!" * 250_000,
    "blank lines": b"\n" * 1_000_000,
    "25 MB": b"Subject: x\n\n" + b"y" * 25_000_000,
    "25 MB of dashes": b"Content-Type: multipart/mixed; boundary=-\n\n" + b"-" * 25_000_000,
    "25 MB of boundaries": b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b x\n" * 4_000_000,
    "25 MB of fields": b"Subject: x\n" + b"A: b\n" * 5_000_000,
    "25 MB in nested parts": b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(30)
    )
    + b"--c\n" * 6_000_000,
    "short versions beside long pages": b"Content-Type: multipart/mixed; boundary=b\n\n"
    + (
        b"--b\nContent-Type: multipart/alternative; boundary=c\n\n--c\n\nx\n--c\nContent-Type: text/html\n\n"
        + b"<p>" * 100_000
        + b"\n--c--\n"
    )
    * 80,
    **{
        f"recipients {piece!r}": b"To: " + piece * (1_000_000 // len(piece))
        for piece in (b'"\\"', b"(a", b"<a", b"=?utf-8?q?", b'"', b"a@b,", b":", b"((", b'\\"', b"\xc3,")
    },
    **{
        f"html {piece!r}": b"Content-Type: text/html\n\n" + piece * (1_000_000 // len(piece))
        for piece in (
            b"<a ",
            b"<!--",
            b'<a "',
            b"<a href='",
            b"<",
            b"&#",
            b'<a href="http://x">',
            b"<p>",
            b"<a b=",
            b"</",
        )
    },
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_bomb_takes_two_seconds(name: str) -> None:
    started = time.process_time()
    original = parse(BOMBS[name])
    assert time.process_time() - started < 2
    assert len(original.attachments) <= MAX_PARTS
    assert is_harmless(original)


def test_a_file_that_an_editor_marked_as_utf_8_keeps_its_first_header() -> None:
    original = parse(b"\xef\xbb\xbfMessage-ID: <1@mail.example>\r\nSubject: Hello\r\n\r\nText")
    assert (original.message_id, original.subject, original.text) == ("<1@mail.example>", "Hello", "Text")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("quoted-printable", b"Gr=C3=BC=C3=9Fe=\r\n!"), ("Base64 ", b"R3LDvMOfZSE="), ("8bit", "Grüße!".encode())],
)
def test_a_text_is_read_however_it_was_wrapped_for_the_way(encoding: str, body: bytes) -> None:
    head = f"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n"
    assert parse(head.encode() + body).text.strip() == "Grüße!"


def test_the_plain_version_is_preferred_and_the_other_one_never_shown_as_html() -> None:
    both = (
        b"Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nplain\r\n"
        b"--b\r\nContent-Type: text/html\r\n\r\n<p>fancy</p>\r\n--b--\r\n"
    )
    assert parse(both).text == "plain"
    assert parse(both.replace(b"plain\r\n--b", b"\r\n--b")).text == "fancy"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one<p>two<br>three", "one\n\ntwo\nthree"),
        ("a&lt;b&amp;c &eacute;", "a<b&c é"),
        ("<script>alert(1)</script>x<style>p{}</style>y", "xy"),
        ("<SCRIPT>alert(1)", ""),
        ("<a href='https://a.example/x'>here</a>", "here (https://a.example/x)"),
        ("<a href=https://a.example/x>https://a.example/x</a>", "https://a.example/x"),
        ("<a href='mailto:a@b.example'>a@b.example</a>", "a@b.example"),
        ("<a href='javascript:alert(1)'>x</a>", "x"),
        ("<ul><li>one<li>two</ul>", "- one\n- two"),
        ("x<!-- <p>no</p> -->y<!doctype html>z", "xyz"),
        ("<a title='>'>x</a>", "x"),
        ("1 < 2 <> 3", "1 < 2 <> 3"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;", "<script>alert(1)</script>"),
        pytest.param(f"a&#{'1' * 5_000};b", "a\ufffdb", id="a number that names no character"),
    ],
)
def test_html_becomes_the_words_a_person_reads(html: str, text: str) -> None:
    assert html_to_text(html).strip() == text


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Fri, 31 Dec 9998 23:59:59 +0000", datetime(9998, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("Fri, 31 Dec 9999 23:59:59 +0000", None),
        ("Mon, 1 Jan 1900 00:00:00 +0000", None),
    ],
)
def test_a_date_is_one_that_every_zone_can_show(written: str, meant: datetime | None) -> None:
    assert parse(f"Date: {written}\r\n\r\n".encode()).date == meant


def test_attachments_are_named_and_measured() -> None:
    raw = (
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n--b\r\n"
        b"Content-Type: application/pdf; name*0*=utf-8''r%C3%A9; name*1=sum.pdf\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\n"
        b'AAECAw==\r\n--b\r\nContent-Disposition: attachment; filename="../../evil\r\n .exe"\r\n\r\nMZ\r\n--b--\r\n'
    )
    assert parse(raw).text == "hello"
    assert parse(raw).attachments == (
        Attachment("résum.pdf", "application/pdf", 4),
        Attachment("evil .exe", "text/plain", 2),
    )


def test_an_attachment_beyond_the_first_megabyte_still_has_its_size() -> None:
    head = b"Content-Type: application/zip\nContent-Transfer-Encoding: base64\n\n"
    size = parse(head + b"A" * 4_000_000).attachments[0].size
    assert abs(size - 3_000_000) < 1_000


def test_our_own_reminder_is_recognised() -> None:
    assert parse(b"X-Snoozer-Instance: i-1\r\n\r\n").instance == "i-1"
    assert parse(b"In-Reply-To: <a@b>\r\nSubject: x\r\n\r\n").in_reply_to == "<a@b>"


@pytest.mark.parametrize("name", sorted(corpus.messages()))
def test_attachments_are_those_that_are_listed_and_whole(name: str) -> None:
    original = corpus.messages()[name]
    listed, found = parse(original).attachments, parse_attachments(original)
    assert [(each.shown.name, each.shown.type) for each in found] == [(each.name, each.type) for each in listed]
    assert all(each.shown.size == len(each.content) for each in found)
    assert parse_html(original) != ""


def test_a_large_attachment_is_whole_and_a_page_is_in_its_charset() -> None:
    content = b"x" * 3_000_000
    original = (
        b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n'
        b"<b>Gr\xfc\xdfe</b>\r\n--b\r\nContent-Type: application/pdf\r\nContent-ID: <a@b>\r\n\r\n"
    ) + content
    [file] = parse_attachments(original)
    assert (file.content, file.content_id) == (content, "a@b")
    assert parse_html(original) == "<b>Grüße</b>"
    assert parse_html(b"Subject: x\r\n\r\nText.") is None
