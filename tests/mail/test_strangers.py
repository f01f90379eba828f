"""What strangers send in broken ways is read as their own mail programs read it."""

import pytest

from snoozer.mail.charsets import decode_bytes
from snoozer.mail.headers import thread_ids
from snoozer.mail.html_to_text import html_to_text
from snoozer.mail.message_parser import parse
from tests.mail.strangers import CHARSETS, SENDERS, messages

STRANGERS = list(messages())


def test_there_are_300_in_15_charsets_30_structures_and_20_senders() -> None:
    structures = {one.name.partition(": ")[2].partition(",")[0] for one in STRANGERS}
    assert (len(STRANGERS), len(CHARSETS), len(structures), len(SENDERS)) == (300, 15, 30, 20)


@pytest.mark.parametrize("field", ["subject", "sender", "text"])
def test_each_is_read_as_it_was_meant(field: str) -> None:
    wrong = {}
    for one in STRANGERS:
        read = parse(one.original)
        if field == "sender":
            found: object = (read.sender_name, read.sender_email)
            meant: object = (one.sender.name, one.sender.email)
        else:
            found, meant = getattr(read, field).strip(), getattr(one, field)
        if found != meant:
            wrong[one.name] = (found, meant)
    assert wrong == {}


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("utf-8", "Grüße aus Köln, ".encode() * 9 + b"\xff und Ende", "Grüße aus Köln, " * 9 + "\ufffd und Ende"),
        ("gb2312", "您好，请查收".encode("gbk") * 9 + b"\xff", "您好，请查收" * 9 + "\ufffd"),
        ("utf-16", "é".encode(), "é"),
        (None, "①".join(["会議", "資料"]).encode("utf-8"), "会議①資料"),
        (None, "これは文字コードの指定がないメールです".encode("euc_jp"), "これは文字コードの指定がないメールです"),
        (None, "El niño comió piña en la montaña".encode("latin-1"), "El niño comió piña en la montaña"),
    ],
)
def test_a_few_bad_bytes_or_a_missing_label_spoil_no_text(label: str | None, data: bytes, text: str) -> None:
    assert decode_bytes(data, label) == text


@pytest.mark.parametrize(
    ("original", "text"),
    [
        (b"Content-Transfer-Encoding: base64\r\n\r\nHello!", "Hello!"),
        (b"Content-Type: application/octet-stream\r\n\r\nHello", "Hello"),
        (b"Content-Type: text/calendar\r\n\r\nBEGIN:VCALENDAR", "BEGIN:VCALENDAR"),
        (b"Content-Type: multipart/mixed; boundary=b\r\n\r\nOnly this.", "Only this."),
        (b"Content-Type: application/octet-stream\r\n\r\n\x89PNG\0\0", ""),
        (b"Content-Type: application/pdf; name=a.pdf\r\n\r\n%PDF", ""),
    ],
)
def test_raw_text_is_shown_rather_than_none(original: bytes, text: str) -> None:
    assert parse(original).text == text


def test_raw_bytes_in_a_header_are_in_the_charset_of_the_text() -> None:
    original = "Subject: мир\r\nContent-Type: text/plain; charset=koi8-r\r\n\r\nТекст".encode("koi8_r")
    assert (parse(original).subject, parse(original).text) == ("мир", "Текст")


def test_a_text_that_the_limit_cuts_inside_a_letter_stays_utf_8_and_is_called_cut() -> None:
    head = b"Content-Type: text/plain; charset=utf-8\r\n\r\n"
    read = parse(head + "é".encode() * 600_000)
    assert set(read.text) == {"é"}
    assert read.cut
    assert not parse(head + b"short").cut


@pytest.mark.parametrize(("raw", "name"), [(r'"C:\TEMP\note.txt"', "note.txt"), (r'"say \"hi\".txt"', 'say "hi".txt')])
def test_a_backslash_that_protects_nothing_is_meant(raw: str, name: str) -> None:
    read = parse(f"Content-Type: application/zip; name={raw}\r\n\r\nx".encode())
    assert [attachment.name for attachment in read.attachments] == [name]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<div style='display:none'>only this", "only this"),
        ("<div style='display:none'>only this</div>", "only this"),
        ("<p hidden>no</p>yes", "yes"),
        ("<p class='a hidden b'>yes</p>", "yes"),
        ("<td style='padding:0;font-size:0px'>yes</td>", "yes"),
        ("x" + "\u200c\xa0" * 40 + "y", "x y"),
        ("<a href=https://a.example/x>a.example/x</a>", "a.example/x"),
        ("<div style='max-height:0px;overflow:hidden'>no<div>no</div></div>yes", "yes"),
    ],
)
def test_what_a_page_hides_is_hidden_unless_it_is_all(html: str, text: str) -> None:
    assert html_to_text(html).strip() == text


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        (("<a@b> <c@d>", "<e@f>"), ("<a@b>", "<c@d>", "<e@f>")),
        (("<1234   @   local>",), ("<1234@local>",)),
        (("no.brackets@x",), ("<no.brackets@x>",)),
        (('<"quoted id"@x> <no-at>',), ('<"quotedid"@x>', "<no-at>")),
        (("<a@b\r\nBcc: x@y>",), ("<a@bBcc:x@y>",)),
        (("<ü@b> <=?utf-8?q?a?=@b>",), ()),
        ((None, b""), ()),
    ],
)
def test_odd_ids_are_kept_for_threading(fields: tuple[str | bytes | None, ...], ids: tuple[str, ...]) -> None:
    assert thread_ids(*fields) == ids
