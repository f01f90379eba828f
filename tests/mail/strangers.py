"""300 messages as strangers write them, each with what a person reads of it: 15 charsets, 30 structures, 20 senders."""

from base64 import b64encode
from binascii import b2a_qp
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from snoozer.mail.headers import Sender


@dataclass(frozen=True)
class Written:
    """A text in the bytes of a charset and the label that is put on them."""

    label: str
    text: str
    data: bytes


@dataclass(frozen=True)
class Strange:
    """A message, and what it says."""

    name: str
    original: bytes
    subject: str
    sender: Sender
    text: str


def _jis(text: str) -> bytes:
    """ISO-2022-JP with NEC's row 13, as Windows writes it and Python cannot."""
    out = b"\x1b$B"
    for char in text:
        lead, trail = char.encode("cp932")
        row = (lead - (0x81 if lead < 0xA0 else 0xC1)) * 2 + 0x21 + (trail >= 0x9F)
        out += bytes((row, trail - 0x7E if trail >= 0x9F else trail - 0x1F - (trail > 0x7F)))
    return out + b"\x1b(B"


_RUSSIAN = "Здравствуйте, это письмо из Москвы."
_JAPANESE = "①㈱すみません会議の件"
CHARSETS = (
    Written("x-sjis", "髙橋様、会議の件です。", "髙橋様、会議の件です。".encode("cp932")),
    Written("windows-31j", "①番の資料をご覧ください。", "①番の資料をご覧ください。".encode("cp932")),
    Written("x-euc-jp", "資料をご覧ください。", "資料をご覧ください。".encode("euc_jp")),
    Written("x-gbk", "您好，请查收附件。", "您好，请查收附件。".encode("gbk")),
    Written("windows-874", "สวัสดีครับ ขอบคุณ", "สวัสดีครับ ขอบคุณ".encode("cp874")),
    Written("iso-8859-8-i", "שלום לכולם, תודה", "שלום לכולם, תודה".encode("iso8859_8")),
    Written("x-mac-cyrillic", _RUSSIAN, _RUSSIAN.encode("mac_cyrillic")),
    Written("cp-850", "Grüße aus Köln, à bientôt", "Grüße aus Köln, à bientôt".encode("cp850")),
    Written("ISO-2022-JP", _JAPANESE, _jis(_JAPANESE)),
    Written("unknown-8bit", _RUSSIAN, _RUSSIAN.encode("koi8_r")),
    Written("ansi_x3.4-1968", "Grüße aus Köln", "Grüße aus Köln".encode()),
    Written("x-cp1251", _RUSSIAN, _RUSSIAN.encode("cp1251")),
    Written("ISO_8859-1:1987", "Grüße – „aus“ Köln", "Grüße – „aus“ Köln".encode("cp1252")),
    Written("big5-eten", "您好，請查收附件。", "您好，請查收附件。".encode("big5")),
    Written("utf8", "Grüße, 漢字, Привет и всё", "Grüße, 漢字, Привет и всё".encode()),
)

SENDERS: tuple[tuple[str, Sender], ...] = (
    ("Ann Berg <ann@a.example>", Sender("Ann Berg", "ann@a.example")),
    ("<@relay.example,@b.example:ann@a.example>", Sender(None, "ann@a.example")),
    ("Ann <@relay.example:ann@a.example>", Sender("Ann", "ann@a.example")),
    ("Ann <ann@b@a.example>", Sender("Ann", "ann@b@a.example")),
    ("ann@b@a.example", Sender(None, "ann@b@a.example")),
    ("Ann <ann@a.example>, Bob <bob@b.example>", Sender("Ann", "ann@a.example")),
    ("ann@a.example bob@b.example", Sender(None, "ann@a.example")),
    ("ann@a.example; bob@b.example", Sender(None, "ann@a.example")),
    ("Friends: Ann <ann@a.example>, bob@b.example;", Sender("Ann", "ann@a.example")),
    ("Ann <ann @ a.example>", Sender("Ann", "ann@a.example")),
    ("ann@a.example (Ann Berg)", Sender("Ann Berg", "ann@a.example")),
    ("Ann [mailto:ann@a.example]", Sender("Ann", "ann@a.example")),
    ("Ann <mailto:ann@a.example>", Sender("Ann", "ann@a.example")),
    ('"Berg, Ann" <ann@a.example>', Sender("Berg, Ann", "ann@a.example")),
    (r'"OFFICE\ann" <ann@a.example>', Sender(r"OFFICE\ann", "ann@a.example")),
    ("=?utf-8?q?J=C3=B6rg?= <joerg@a.example>", Sender("Jörg", "joerg@a.example")),
    ("=?utf-8?q?Ann_=3Cann=40a.example=3E?=", Sender("Ann", "ann@a.example")),
    ("Ann <ann@a.example", Sender("Ann", "ann@a.example")),
    ("Ann <ann@[192.0.2.1]>", Sender("Ann", "ann@[192.0.2.1]")),
    ("<ann@a.example> Ann", Sender("Ann", "ann@a.example")),
)

_Structure = Callable[[Written], tuple[bytes, str]]


def _type(written: Written, *, of: str = "text/plain", more: str = "") -> bytes:
    return f"Content-Type: {of}; charset={written.label}{more}\r\n".encode()


def _plain(written: Written, encoding: str, body: bytes, *, more: str = "") -> bytes:
    return _type(written, more=more) + f"Content-Transfer-Encoding: {encoding}\r\n\r\n".encode() + body + b"\r\n"


def _parts(kind: str, *parts: bytes, boundary: str = "b", lines: str = "b", end: bytes = b"--b--\r\n") -> bytes:
    """A multipart whose header has `kind` and the declared boundary, and whose lines may have another one."""
    inner = b"".join(f"--{lines}\r\n".encode() + part + b"\r\n" for part in parts)
    return f"Content-Type: {kind}{boundary}\r\n\r\n".encode() + inner + end


def _structures() -> dict[str, _Structure]:
    def part(written: Written) -> bytes:
        return _type(written) + b"\r\n" + written.data

    def html(written: Written, body: bytes) -> bytes:
        return _type(written, of="text/html") + b"\r\n" + body

    pdf = b"Content-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nAAECAw=="
    mixed, boundary = "multipart/mixed; ", 'boundary="b"'
    hidden = b'<span style="display:none">SEEN IN LISTS ONLY</span>'
    meta = b"<html><head><meta charset=%b></head><body>%b</body></html>"
    return {
        "8bit": lambda w: (_plain(w, "8bit", w.data), w.text),
        "quoted-printable": lambda w: (_plain(w, "Quoted-Printable ", b2a_qp(w.data)), w.text),
        "base64": lambda w: (_plain(w, "BASE64", b64encode(w.data)), w.text),
        "plain text labelled base64": lambda w: (_plain(w, "base64", b"See you soon. Ann"), "See you soon. Ann"),
        "words behind base64": lambda w: (_plain(w, "base64", b64encode(w.data) + b"\r\n-- \r\nA list"), w.text),
        "header that ends in a blank": lambda w: (_type(w) + b" \r\n" + w.data, w.text),
        "header without an end": lambda w: (_type(w) + b"Dear Bob,\r\nall is well.\r\n", "Dear Bob,\nall is well."),
        "line in the header that is no field": lambda w: (b"junk\r\n" + part(w), w.text),
        "text with a file name": lambda w: (_plain(w, "8bit", w.data, more="; name=note.txt"), w.text),
        "attached text alone": lambda w: (b"Content-Disposition: attachment\r\n" + part(w), w.text),
        "comment before the type": lambda w: (part(w).replace(b" text/", b" (a comment) text/"), w.text),
        "parameter without a semicolon": lambda w: (part(w).replace(b"; charset", b" charset"), w.text),
        "unclosed quotation mark": lambda w: (part(w).replace(b"charset=", b'charset="'), w.text),
        "missing semicolon before the boundary": lambda w: (
            _parts("multipart/mixed ", part(w), boundary=boundary),
            w.text,
        ),
        "boundary that ends in --": lambda w: (
            _parts(mixed, part(w), boundary='boundary="b--"', lines="b--", end=b"--b----\r\n"),
            w.text,
        ),
        "declared boundary with -- too many": lambda w: (_parts(mixed, part(w), boundary='boundary="b--"'), w.text),
        "boundary with -- inside of the one without": lambda w: (
            _parts(
                mixed,
                _parts(
                    "multipart/alternative; ",
                    part(w),
                    html(w, b"<p>no"),
                    boundary='boundary="b--"',
                    lines="b--",
                    end=b"--b----\r\n",
                ),
                boundary=boundary,
            ),
            w.text,
        ),
        "another boundary": lambda w: (_parts(mixed, part(w), pdf, boundary='boundary="c"'), w.text),
        "no boundary": lambda w: (_parts("multipart/mixed", part(w), pdf, boundary=""), w.text),
        "no last boundary": lambda w: (_parts(mixed, part(w), boundary=boundary, end=b""), w.text),
        "no type": lambda w: (b"\r\nA message in MIME format.\r\n--b\r\n" + part(w) + b"\r\n--b--\r\n", w.text),
        "digest": lambda w: (
            _parts("multipart/digest; ", b"\r\nSubject: One\r\n" + part(w), boundary=boundary),
            f"Subject: One\n\n{w.text}",
        ),
        "forwarded message alone": lambda w: (
            _parts(mixed, b"Content-Type: message/rfc822\r\n\r\nSubject: One\r\n" + part(w), boundary=boundary),
            w.text,
        ),
        "preheader": lambda w: (html(w, hidden + b"<p>" + w.data), w.text),
        "picture with words": lambda w: (html(w, b'<img src=x alt="Sale"><p>' + w.data), f"Sale\n\n{w.text}"),
        "link without words": lambda w: (
            html(w, b"<a href=https://a.example/x><img src=y></a><p>" + w.data),
            f"https://a.example/x\n\n{w.text}",
        ),
        "charset in the page only": lambda w: (
            b"Content-Type: text/html\r\n\r\n" + meta % (w.label.encode(), w.data),
            w.text,
        ),
        "flowed": lambda w: (
            _type(w, more="; format=flowed") + b"\r\n" + w.data + b" \r\nand more.\r\n-- \r\nAnn\r\n",
            f"{w.text} and more.\n--\nAnn",
        ),
        "flowed without its spaces": lambda w: (
            _type(w, more="; format=flowed; DelSp=yes") + b"\r\n> " + w.data + b" \r\n> and more.\r\nNo.\r\n",
            f"> {w.text}and more.\nNo.",
        ),
        "lines that end in CR": lambda w: (part(w) + b"\r\nC:\\TEMP\r\n--\r\nAnn", f"{w.text}\nC:\\TEMP\n--\nAnn"),
    }


def messages() -> Iterator[Strange]:
    """The 300: each structure with ten charsets, each charset with twenty structures, each sender fifteen times."""
    structures = list(_structures().items())
    for number in range(300):
        name, structure = structures[number % 30]
        written = CHARSETS[(number + number // 30) % 15]
        raw_sender, sender = SENDERS[(number + number // 20) % 20]
        rest, text = structure(written)
        encoded = b"=?" + written.label.encode() + b"?b?" + b64encode(written.data) + b"?="
        # One in three has its bytes in the header as they are.
        subject = written.data if number % 3 == 0 else encoded
        head = b"From: " + raw_sender.encode() + b"\r\nSubject: " + subject + b"\r\n"
        original = head + rest
        if name == "lines that end in CR":
            original = original.replace(b"\r\n", b"\r")
        yield Strange(f"{number}: {name}, {written.label}, {raw_sender}", original, written.text, sender, text)
