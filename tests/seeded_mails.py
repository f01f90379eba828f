"""Mails that are made to take long: structure, headers, encodings, pages, calendars, signatures."""

from base64 import b64encode
from random import Random

from tests.seeds import MIB, Kind, pick, some

# The largest message that can be uploaded, less its form.
LARGEST = 24 * MIB
_SIZES = (4_096, 65_536, MIB, 2 * MIB)
_CHARSETS = (
    *(b"utf-8", b"utf-7", b"utf-16", b"utf-32", b"iso-2022-jp", b"iso-2022-kr", b"hz", b"punycode", b"idna", b"zlib"),
    *(b"gb18030", b"big5", b"euc-jp", b"x-user-defined", b"unicode_escape", b"rot13", b"a" * 900, b"", b"\xff"),
)
_CODINGS = (b"base64", b"quoted-printable", b"x-uuencode", b"7bit", b"binary", b"yenc", b"x" * 500)
_TEXTS = (
    *(
        b"=",
        b"=\r\n",
        b"=3D",
        b"=?utf-8?q?",
        b"?=",
        b"\x1b$B",
        b"\x1b(B",
        b"~{",
        b"+AGE-",
        b"\xe2\x80\xae",
        b"\xff\xfe",
    ),
    *(
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b"\t",
        b"QUJD",
        b"begin 644 a\n",
        b">",
        b"> ",
        b"http://",
        b"www.",
        b"-- \r\n",
    ),
    *(b"a", b"x" * 998, b"On x wrote:\r\n", b"-----Original Message-----\r\n", b"\xc2\xad", b"\xcc\x81", b"&#x"),
)
_TAGS = (
    *(
        b"<p>",
        b"<b>",
        b"<a href='http://x'>",
        b"<table>",
        b"<tr>",
        b"<td>",
        b"<li>",
        b"<ul>",
        b"<div style='width:1px'>",
    ),
    *(b"<font color=red>", b"</p>", b"</b>", b"</a>", b"</table>", b"<!--", b"-->", b"<script>", b"<style>", b"<svg>"),
    *(b"<math>", b"<template>", b"<select>", b"<![CDATA[", b"<plaintext>", b"<noscript>", b"<img src=cid:a alt='x'>"),
    *(b"&", b"&amp;", b"&#1114112;", b"&lt", b"<", b"</", b'"', b"'", b"=", b"x", b" ", b"<a b=", b"<q>", b"<dd><dt>"),
    *(b"<h1>", b"<form>", b"<input>", b"<iframe>", b"<object>", b"<base href=x>", b"<p style='", b"<td colspan=99999>"),
)
_FIELDS = (b"From", b"To", b"Cc", b"Date", b"Message-ID", b"References", b"In-Reply-To", b"Content-Type", b"Reply-To")
_HEAD_PIECES = (
    *(
        b"<",
        b">",
        b"@",
        b",",
        b";",
        b":",
        b'"',
        b"\\",
        b"(",
        b")",
        b"=?utf-8?q?=C3?=",
        b"=?utf-8?b?w",
        b"?=",
        b" ",
        b"a",
    ),
    *(
        b"\r\n ",
        b"\r\n\t",
        b"=?iso-2022-jp?b?GyRC?= ",
        b"<a@b> ",
        b"name*0*=utf-8''%C3",
        b"; name*1=",
        b"[",
        b"::",
        b"x@y,",
    ),
    *(b"\xff", b"\0", b"\xe2\x80\xae", b"xn--", b"=?a?b?c?=", b"=?utf-8?q?" + b"=41" * 60 + b"?= ", b"x" * 2_000),
)


def a_mail(seed: int) -> bytes:
    """A message as it is stored: it begins with a field."""
    return b"Subject: %d\r\n" % seed + pick(_KINDS, seed)


def _multipart(dice: Random, *, depth: int) -> bytes:
    kinds = (b"mixed", b"alternative", b"related", b"report", b"digest", b"signed", b"x" * 99)
    marks = (b"-", b"b", b"b" * 70, b"--", b"%d")
    head, tail = b"", b""
    for level in range(depth):
        mark = dice.choice(marks).replace(b"%d", b"%d" % level)
        head += b'Content-Type: multipart/%s; boundary="%s"\r\n\r\n--%s\r\n' % (dice.choice(kinds), mark, mark)
        tail = b"\r\n--%s--\r\n" % mark + tail
    return head + b"Content-Type: text/plain\r\n\r\nx" + (tail if dice.random() < 0.5 else b"")


def _deep(dice: Random) -> bytes:
    return _multipart(dice, depth=dice.choice((5, 19, 21, 500, 20_000)))


def _deep_messages(dice: Random) -> bytes:
    each = b"Content-Type: message/rfc822\r\n%s\r\nSubject: x\r\n" % dice.choice(
        (b"", b"Content-Transfer-Encoding: base64\r\n", b"Content-Disposition: attachment\r\n")
    )
    return each * dice.choice((2, 30, 10_000)) + b"\r\n" + _multipart(dice, depth=30)


def _parts(dice: Random) -> bytes:
    part = b"--b\r\nContent-Type: %s; charset=%s\r\nContent-Transfer-Encoding: %s\r\n%s\r\n%s\r\n" % (
        dice.choice(
            (b"text/plain", b"text/html", b"application/pdf", b"image/png", b"message/rfc822", b"text/calendar")
        ),
        *(dice.choice(_CHARSETS), dice.choice(_CODINGS)),
        dice.choice((b"", b"Content-ID: <a>\r\n", b'Content-Disposition: attachment; filename="..\\a"\r\n')),
        some(dice, _TEXTS, size=dice.choice((10, 2_000, 200_000))),
    )
    most = dice.choice((MIB, 4 * MIB, LARGEST))
    count = min(dice.choice((3, 90, 101, 50_000)), most // len(part) or 1)
    return b"Content-Type: multipart/%s; boundary=b\r\n\r\n" % dice.choice((b"mixed", b"alternative")) + part * count


def _header(dice: Random) -> bytes:
    size = dice.choice(_SIZES)
    fields = [b"%s: %s\r\n" % (dice.choice(_FIELDS), some(dice, _HEAD_PIECES, size=size // 4)) for _ in range(4)]
    return b"".join(fields) + b"X-Many: y\r\n" * dice.choice((0, 999, 100_000)) + b"\r\nx"


def _encoded_words(dice: Random) -> bytes:
    word = b"=?%s?%s?%s?=%s" % (
        *(dice.choice(_CHARSETS[:-4]), dice.choice((b"q", b"b", b"Q", b"x"))),
        dice.choice((b"=41" * 20, b"4pyT" * 15, b"_" * 75, b"=", b"GyRC", b"")),
        dice.choice((b" ", b"", b"\r\n ", b"x", b" \t ")),
    )
    field = dice.choice((b"From", b"To", b"X-Subject", b"Subject", b"Cc"))
    return b"%s: %s\r\n\r\nx" % (field, word * (dice.choice(_SIZES) // len(word)))


def _page(dice: Random) -> bytes:
    charset = dice.choice((b"utf-8", *_CHARSETS))
    # The first is the most that is laid out.
    size = dice.choice((190_000, 190_000, 190_000, MIB, 4 * MIB))
    return b"Content-Type: text/html; charset=%s\r\n\r\n<p>" % charset + some(dice, _TAGS, size=size)


def _page_of_pictures(dice: Random) -> bytes:
    page = b"<img src='cid:%d'>" * 300 % tuple(n % 40 for n in range(300))
    picture = b64encode(b"\x89PNG" + bytes(dice.choice((100, 200_000, 2_000_000))))
    parts = b"".join(
        b"--b\r\nContent-Type: image/png\r\nContent-ID: <%d>\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n"
        % (n, picture)
        for n in range(min(40, LARGEST // len(picture)))
    )
    return (
        b"Content-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n"
        + page
        + b"\r\n"
        + parts
    )


def _calendar(dice: Random) -> bytes:
    lines = (
        *(b"BEGIN:VEVENT\r\n", b"END:VEVENT\r\n", b"BEGIN:VTIMEZONE\r\n", b"RRULE:FREQ=SECONDLY;COUNT=999999999\r\n"),
        *(b"DTSTART:99991231T235959Z\r\n", b"DTSTART;TZID=x:20260101T000000\r\n", b"DURATION:P99999DT99999H\r\n"),
        *(
            b"SUMMARY:\\n\\,\\;\r\n",
            b"DESCRIPTION:" + b"\\n" * 3_000 + b"\r\n",
            b'X;A="b";C=":"' * 20 + b":d\r\n",
            b" folded\r\n",
        ),
        *(
            b'X;A="' * 50 + b"\r\n",
            b"RDATE:" + b"20260101," * 500 + b"\r\n",
            b"DTEND:00000000\r\n",
            b":\r\n",
            b";;;;;:\r\n",
        ),
    )
    body = b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n" + some(dice, lines, size=dice.choice(_SIZES))
    coding = b""
    if dice.random() < 0.4:
        coding, body = b"Content-Transfer-Encoding: base64\r\n", b64encode(body)
    kind = dice.choice((b"text/calendar", b"application/ics", b"text/x-vcalendar"))
    return b"Content-Type: %s; charset=utf-8; method=REQUEST\r\n%s\r\n%s" % (kind, coding, body)


def _signed(dice: Random) -> bytes:
    """An envelope of CMS whose lengths lie."""
    oids = (bytes.fromhex("06092a864886f70d010702"), bytes.fromhex("06092a864886f70d010701"))
    length = dice.choice(
        (b"\x80", b"\x84\xff\xff\xff\xff", b"\xff" * 9, b"\x00", b"\x82\x10\x00", b"\xfe" + b"\xff" * 126)
    )
    data = b"\x30" + length + oids[0] + b"\xa0" + length + b"\x30" + length + b"\x02\x01\x01\x31\x00\x30" + length
    data += (
        oids[1]
        + b"\xa0"
        + length
        + b"\x24"
        + length
        + some(dice, (b"\x04\x01x", b"\x04\x00", b"\x24\x80"), size=dice.choice(_SIZES))
    )
    kind = dice.choice((b"application/pkcs7-mime; smime-type=signed-data", b"application/x-pkcs7-mime"))
    return b"Content-Type: %s\r\nContent-Transfer-Encoding: base64\r\n\r\n%s" % (kind, b64encode(data))


def _text(dice: Random) -> bytes:
    kind = dice.choice((b"plain", b"plain; format=flowed; delsp=yes", b"enriched", b"richtext", b"x" * 99))
    head = b"Content-Type: text/%s; charset=%s\r\nContent-Transfer-Encoding: %s\r\n\r\n"
    size = dice.choice((*_SIZES, LARGEST))
    return head % (kind, dice.choice(_CHARSETS), dice.choice(_CODINGS)) + some(dice, _TEXTS, size=size)


def _soup(dice: Random) -> bytes:
    """Pieces of all the others, cut anywhere."""
    others = [kind for kind in _KINDS if kind is not _soup]
    cut = [dice.choice(others)(dice) for _ in range(3)]
    return b"".join(each[(at := dice.randrange(len(each))) : at + 300_000] for each in cut)


_KINDS: list[Kind] = [
    *(_deep, _deep_messages, _parts, _header, _encoded_words, _page),
    *(_page_of_pictures, _calendar, _signed, _text, _soup, _page),
]  # fmt: skip
