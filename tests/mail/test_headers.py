"""Header text of strangers: whatever comes in, what comes out is one harmless line."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from snoozer.mail import headers
from snoozer.mail.headers import Sender, address, ascii_address, message_id, references, sanitize_line, sender, subject
from tests.mail.hostile import HOSTILE

ENCODED = st.lists(
    st.one_of(
        HOSTILE,
        st.sampled_from(
            ["=?utf-8?q?", "=?utf-8?b?", "=?iso-2022-jp?b?", "=?hex?q?", "?=", "=0D=0A", "=00", "=\r\n ", "Bcc: x"]
        ),
    ),
    max_size=20,
).map("".join)
PRINTABLE_ASCII = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
LINE_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b\ufeff\ud800-\udfff]")


@given(raw=ENCODED | st.binary(max_size=400))
def test_a_subject_is_one_visible_line_or_none(raw: str | bytes) -> None:
    text = subject(raw)
    if text is not None:
        assert text.strip() == text != ""
        assert len(text) <= headers.MAX_TEXT_LENGTH
        assert not LINE_BREAKS.search(text)
        assert "  " not in text
        assert "=?" not in text
        assert text == unicodedata.normalize("NFC", text)
        assert text.splitlines() == [text]


@given(text=HOSTILE)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert sanitize_line(sanitize_line(text)) == sanitize_line(text)


@example(text=" a  =? ")
@given(text=st.text(PRINTABLE_ASCII, max_size=300) | st.text("=? a", max_size=20))
def test_a_line_of_ascii_is_cleaned_as_it_is_beside_a_foreign_letter(text: str) -> None:
    """One letter that is not ASCII sends the whole line the long way round, so both ways are compared here."""
    assert sanitize_line(f"{text} é", limit=1_000) == f"{sanitize_line(text, limit=1_000)} é".lstrip()


@given(
    name=st.text("aé .=?;:'[\t\u200d", max_size=20), email=st.text("aé.@=?[", max_size=20) | st.just("a.b@c.example")
)
def test_a_simple_sender_is_read_as_one_that_is_not(name: str, email: str) -> None:
    """Most senders are read by one expression; a comment behind them leads to the reader of all others."""
    for raw in (f"{name}<{email}>", email):
        simple, general = sender(raw), sender(f"{raw} ()")
        assert simple == general


@given(raw=ENCODED | st.lists(st.sampled_from(["<a@b>", "<c.d@e>", f"<{'x' * 250}@y>", " ", "<@>"])).map("".join))
def test_the_message_id_is_the_first_reference(raw: str) -> None:
    assert message_id(raw) == next(iter(references(raw)), None)


@given(raw=ENCODED | st.binary(max_size=400))
def test_a_sender_is_harmless_text(raw: str | bytes) -> None:
    found = sender(raw)
    for text in (found.name, found.email):
        assert text is None or (text and not LINE_BREAKS.search(text))
    assert found.email is None or ("@" in found.email and not re.search(r"[\s<>(),;:\"]", found.email))


@given(raw=ENCODED | st.binary(max_size=400))
def test_ids_are_of_the_strict_form_or_not_there(raw: str | bytes) -> None:
    assert len(references(raw)) <= headers.MAX_REFERENCES
    for found in references(raw):
        assert re.fullmatch(r"<[!-;=?-~]+@[!-;=?-~]+>", found)
        assert len(found) <= headers.MAX_MESSAGE_ID_LENGTH
        assert message_id(found) == found


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("=?utf-8?q?Hi=0D=0ABcc:_x?=", "Hi Bcc: x"),
        ("=?utf-8?b?SGkNCkJjYzogeA==?=", "Hi Bcc: x"),
        ("=?utf-8?q?=3D=3Futf-8=3Fq=3Ftwice=3F=3D?=", "= ?utf-8?q?twice?="),
        ("=?UTF-8?B?IuaHouWtlyI=?= mid =?UTF-8?B?Iua8ouWtlyI=?=", '"懢字" mid "漢字"'),
        ("=?utf-8?b?4oI=?= =?utf-8?b?rA==?=", "€"),
        ("=?utf-8?q?a?=\r\n =?utf-8?q?b?=", "ab"),
        ("=?utf-8?q?a?= x =?utf-8?q?b?=", "a x b"),
        ("=?iso-8859-1*de?q?gr=FC=DFe?=", "grüße"),
        ("=?zlib?b?eJw=?=", "xœ"),
        ("=?utf-8?b?VEVTVA=?=", "TEST"),
        ("=?utf-8?b?VEVTVA=?", "TEST"),
        ("=?iso-8859-1?q?gr=C3=BC=C3=9Fe?=", "grüße"),
        ("=?no-such-charset?q?caf=E9?=", "café"),
        (b"caf\xe9", "café"),
        (b"caf\xc3\xa9", "café"),
        ("e\u0301", "é"),
        ("evil \u202ecod.exe", "evil cod.exe"),
        ("pay\u200bpal \u2066x\u2069", "paypal x"),
        ("a\u200db", "ab"),
        ("👩\u200d👧 می\u200cخواهم", "👩\u200d👧 می\u200cخواهم"),
        ("a\x1cb\x85c\u2028d\x0be", "a b c d e"),
        ("a" + "\u0301" * 500, "á" + "\u0301" * 8),
        ("x" * 500, "x" * 199 + "…"),
        (" \u3164\u2800 \r\n", None),
        ("", None),
        (None, None),
    ],
)
def test_subjects_as_people_read_them(raw: str | bytes | None, text: str | None) -> None:
    assert subject(raw) == text


@pytest.mark.parametrize(
    ("raw", "name", "email"),
    [
        ("Ann <ann@example.com>", "Ann", "ann@example.com"),
        ("ann@example.com", None, "ann@example.com"),
        ("\"'Ann'\" <ann@example.com>", "Ann", "ann@example.com"),
        ("ann@example.com (Ann Berg)", "Ann Berg", "ann@example.com"),
        ('"Berg, Ann" <ann@example.com>', "Berg, Ann", "ann@example.com"),
        ("Berg, Ann <ann@example.com>, bob@example.com", "Berg, Ann", "ann@example.com"),
        (r'"say \"hi\"" <ann@example.com>', 'say "hi"', "ann@example.com"),
        (
            "=?utf-8?q?bank=40example.com_=3Ca=40b.c=3E?= <eve@evil.example>",
            "bank@example.com <a@b.c>",
            "eve@evil.example",
        ),
        ("Pete(A wonderful \\) chap) <pete(his account)@silly.test(his host)>", "Pete", "pete@silly.test"),
        ("Big Bug bb@bug.com", "Big Bug", "bb@bug.com"),
        ("ann@example.com <ann@example.com>", None, "ann@example.com"),
        ("undisclosed-recipients:;", "undisclosed-recipients", None),
        ("Ann @ Work <ann@example.com>", "Ann @ Work", "ann@example.com"),
        ("Tracker [NEWS] <ann@example.com>", "Tracker [NEWS]", "ann@example.com"),
        ("<>", None, None),
        ("Ann <not an address>", "Ann", None),
        ("<unknown>", "unknown", None),
        ("Jöhn <jdöe@mächine.example>", "Jöhn", "jdöe@mächine.example"),
        ('"ann"@example.com', None, "ann@example.com"),
        ('Ann <"ann"@example.com>', "Ann", "ann@example.com"),
        ('"Ann Berg"@example.com', '"Ann Berg"@example.com', None),
        ('Ann <"ann berg"@example.com>', "Ann", None),
        ('"bob@example.com"@evil.example', '"bob@example.com"@evil.example', None),
        ("Foo <<ann@example.com>>", "Foo", "ann@example.com"),
        ("Foo <Bar> <ann@example.com>", "Foo <Bar>", "ann@example.com"),
        ('"Foo <ann@example.com>"', "Foo", "ann@example.com"),
        ('"Foo Bar <ann@example.com>', "Foo Bar", "ann@example.com"),
        ('Foo "Bar <ann@example.com>', 'Foo "Bar', "ann@example.com"),
        ("Foo (Bar <ann@example.com>", "Foo (Bar", "ann@example.com"),
        ("Foo <ann@example.com,>", "Foo", "ann@example.com"),
        ("=?utf-8?Q?Foo_(Bar)?= <ann@example.com>", "Foo (Bar)", "ann@example.com"),
        ("=?utf-8?Q?Foo_<x>,_Bar?= <ann@example.com>", "Foo <x>, Bar", "ann@example.com"),
        ("ann@example.com (Foo (Bar) Baz)", "Foo (Bar) Baz", "ann@example.com"),
        ("root (Cron Daemon)", "Cron Daemon", None),
        ("host!ann (Ann Berg)", "Ann Berg", None),
        ('"山田表" <ann@example.com>'.encode("iso-2022-jp"), "山田表", "ann@example.com"),
        ("山田太郎 <ann@example.com>".encode("iso-2022-jp"), "山田太郎", "ann@example.com"),
        ("(" * 5_000, None, None),
        ('"' * 4_999, None, None),
    ],
)
def test_senders_as_people_read_them(raw: str | bytes, name: str | None, email: str | None) -> None:
    assert sender(raw) == Sender(name, email)


@pytest.mark.parametrize(
    ("charset", "name"), [("cp932", "山田表"), ("big5", "許功蓋"), ("hz", "会议通知"), ("iso2022_kr", "회의")]
)
def test_letters_whose_bytes_look_like_brackets_and_quotes_are_letters(charset: str, name: str) -> None:
    raw = f'"{name}" <ann@example.com>'.encode(charset)
    assert sender(raw, fallback=charset) == Sender(name, "ann@example.com")


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        ("<a@b>", "<a@b>"),
        (" <a.b$c@[192.0.2.1]> (comment)", "<a.b$c@[192.0.2.1]>"),
        ("<a b@c>", None),
        ("<1234   @   local(blah)  .machine .example>", None),
        ("a@b", None),
        ("<a@b\r\nBcc: x@y>", None),
        ("<" + "a" * 300 + "@b>", None),
        ("<ü@b>", None),
        (None, None),
    ],
)
def test_a_message_id_is_strict_or_missing(raw: str | None, found: str | None) -> None:
    assert message_id(raw) == found


def test_references_keep_the_root_and_the_newest() -> None:
    ids = [f"<{number}@x>" for number in range(30)]
    assert references(" ".join(ids)) == ("<0@x>", *ids[-9:])


@pytest.mark.parametrize(
    "raw", ["a@b\r\nc", "a@b>", "<a@b>", "a b@c", "@b", "a@", "ab", "a@b,c@d", '"a"@b', "x" * 255 + "@b"]
)
def test_what_is_no_address_is_none(raw: str) -> None:
    assert address(raw) is None


@given(raw=HOSTILE | st.text("ab.@é ", max_size=20))
def test_an_address_in_ascii_is_what_the_row_says_or_its_idna_spelling(raw: str) -> None:
    plain, written = address(raw), ascii_address(raw)
    if plain is not None and plain.isascii():
        assert written == plain
    assert written is None or (written.isascii() and address(written) == written)


def test_a_domain_in_another_script_has_an_ascii_spelling() -> None:
    assert ascii_address("j@bücher.example") == "j@xn--bcher-kva.example"
    assert ascii_address("jörg@example.com") is None
    assert ascii_address("j@" + "ü" * 80) is None
