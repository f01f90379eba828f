"""Bytes to text in whatever charset a message declares, or none. Never raises.

Order: the declared charset if it fits; UTF-8; the declared charset with U+FFFD if only a few bytes are bad; then a
guess from the bytes. The table has the names found in real mail, which are more than Python's or IANA's.
"""

import codecs
import encodings
import re
from encodings.aliases import aliases
from itertools import pairwise
from pkgutil import iter_modules

from snoozer.mail.alphabets import latin_charset

# Text codecs that are not charsets of mail; some take quadratic time on hostile input.
_NO_CHARSET = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"})

# Python caches each name that it looks up, known or not, for ever, so only these names are passed to it.
_KNOWN = {name: name for _, name, _ in iter_modules(encodings.__path__)} | aliases

# Names of mail programs that Python does not know, without "x" in front, blanks, dots, hyphens and underlines.
_NAMES = {
    **dict.fromkeys(("windows31j", "cswindows31j", "mscp932", "cp943", "cp943c", "sjisms", "shiftjisms"), "cp932"),
    **dict.fromkeys(("sjis", "macjapanese", "sjiswin", "mskanji", "shifjis", "shiftjisx0201"), "cp932"),
    **dict.fromkeys(("eucjp", "eucjpms", "eucjpwin", "cp51932", "eucpkdfmtjapanese"), "euc_jp"),
    **dict.fromkeys(("cseucpkdfmtjapanese", "unixjis"), "euc_jp"),
    **dict.fromkeys(("iso2022jpms", "cp50220", "cp50221", "cp50222", "jis", "jis7", "csiso2022jp"), "iso2022_jp"),
    **dict.fromkeys(("gbk", "gb", "gb231280", "gb1803", "gb180302000", "gb180302005", "macchinesesimp"), "gb18030"),
    **dict.fromkeys(("gb18030", "gb2312", "gb23121980", "cp54936", "cp52936", "euccn", "chinese"), "gb18030"),
    **dict.fromkeys(("hzgb2312", "hz"), "hz"),
    **dict.fromkeys(("xbig5", "big5", "cnbig5", "big5eten", "macchinesetrad", "big5tw", "cp1950"), "big5"),
    **dict.fromkeys(("big5hkscs", "hkscs"), "big5hkscs"),
    **dict.fromkeys(("euckr", "cp51949", "ksc56011987", "ksc56011989", "ksc5601", "mackorean", "uhc"), "cp949"),
    **dict.fromkeys(("windowsksc5601", "korean", "windows949"), "cp949"),
    **dict.fromkeys(("macthai", "tis620", "tis62025330", "tis6202533", "iso885911", "thai"), "cp874"),
    **dict.fromkeys(("macroman", "macintosh", "mac", "cp10000", "applemacintosh"), "mac_roman"),
    **dict.fromkeys(("maccyrillic", "macukrainian", "cp10007", "cp10017"), "mac_cyrillic"),
    **dict.fromkeys(("macce", "maccentraleurroman", "maceastereurope", "maccentraleurope", "cp10029"), "mac_latin2"),
    **dict.fromkeys(("macgreek", "cp10006"), "mac_greek"),
    **dict.fromkeys(("macturkish", "cp10081"), "mac_turkish"),
    **dict.fromkeys(("macicelandic", "cp10079"), "mac_iceland"),
    **dict.fromkeys(("maccroatian", "cp10082"), "mac_croatian"),
    **dict.fromkeys(("macromanian", "cp10010"), "mac_romanian"),
    **dict.fromkeys(("macarabic", "cp10004"), "mac_arabic"),
    **dict.fromkeys(("koi8", "koi", "koi8rus", "cp20866"), "koi8_r"),
    **dict.fromkeys(("koi8ru", "cp21866"), "koi8_u"),
    **dict.fromkeys(("utf8", "unicode11utf8", "unicode20utf8", "utf8mb4", "utf8n", "cp65001", "uft8"), "utf-8"),
    **dict.fromkeys(("ascii", "usascii", "ansix341968", "ansix341986", "iso646us", "cp20127", "us"), "utf-8"),
    **dict.fromkeys(("ansix34", "ascii7bit", "7bit", "646"), "utf-8"),
    **dict.fromkeys(("utf7", "unicode11utf7", "unicode20utf7", "cp65000"), "utf_7"),
    **dict.fromkeys(("utf16", "unicode", "ucs2", "iso10646ucs2", "cp1200"), "utf_16"),
    **dict.fromkeys(("utf32", "ucs4", "iso10646ucs4"), "utf_32"),
    **dict.fromkeys(("latin1", "isolatin1", "iso8859", "ansi", "western", "ansix31101983"), "cp1252"),
    **dict.fromkeys(("iso88598i", "iso88598e", "logical", "csiso88598i", "hebrew"), "cp1255"),
    **dict.fromkeys(("iso88596i", "iso88596e", "arabic"), "iso8859_6"),
}
_FILLING = re.compile(r"[\s._:()\[\]-]+")
_CODE_PAGE = re.compile(r"(?:windows|win|cp|ibm|ms|dos|oem|codepage|ccsid)0{0,2}([0-9]{3,5})")
_ISO_8859 = re.compile(r"(?:csiso|iso)?8859([0-9]{1,2})")

# Supersets that senders use under the name of the smaller charset. If there are several, the first that fits is used.
_SUPERSETS = {
    "ascii": ("utf-8",),
    "iso8859-1": ("cp1252",),
    "iso8859-8": ("cp1255",),
    "iso8859-9": ("cp1254",),
    "iso8859-11": ("cp874",),
    "big5": ("cp950", "big5hkscs"),
    "euc_kr": ("cp949",),
    "gb2312": ("gb18030",),
    "gbk": ("gb18030",),
    "shift_jis": ("cp932",),
    "iso2022_jp": ("iso2022_jp_ext", "iso2022_jp_2"),
    "utf-16": ("utf_16", "utf_16_be"),
}
_LATIN = "cp1252"

# Candidates for unlabelled text, the frequent ones first.
_GUESSES = [
    *("cp1251", "koi8_u", "gb18030", "cp932", "euc_jp", "cp949", "cp950", "cp1253", "cp1255", "cp1256", "cp874"),
    "cp866",
]
# Programs that know only one charset declare it for everything.
_LATIN_LABELS = frozenset({"cp1252", "iso8859-15", "iso8859-1"})
_UTF_8_LETTER = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
# This many UTF-8 letters do not occur in text of another charset by chance.
_MIN_LETTERS = 6
_ASCII_LETTER = re.compile(rb"[A-Za-z]")
_SEVEN_BIT = frozenset({"hz", "iso2022_kr"})
_SAMPLE = 2_048
_MIN_GUESSED = 6

_HIRAGANA = re.compile(rb"\xa4[\xa1-\xf3]")
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")
_JIS_SHIFT = re.compile(rb"(\x1b(?:\$\([@BCD]|\$[@AB]|\([A-J])|[\x0e\x0f])")
# A line of Japanese has two; a megabyte of escape sequences would take seconds.
_MAX_SHIFTS = 60_000
_JIS_SIGN = re.compile(rb"\x1b(?:\$[@B]|\(I)")
_MARKUP = re.compile(rb"<[^<>\x80-\xff]{1,1000}>|&[a-zA-Z]{2,8};")
_ASCII_RUN = re.compile(rb"[\x00-\x7f]+")


def decode_bytes(data: bytes, charset: str | None, *, fallback: str | None = None) -> str:
    """`data` in its declared charset; if that is unknown or wrong, UTF-8 if it fits, else with U+FFFD.

    `fallback` is the charset for undeclared data that is not UTF-8, taken from another part of the message. Without it
    the charset is guessed from the bytes; if they are few, Windows-1252 is used.
    """
    codecs_of_label = _codecs(charset) or tuple(codec for codec in _codecs(fallback) if codec in _SEVEN_BIT)
    if (real := _other_charset(data, codecs_of_label)) is not None:
        return _replacing(data, real)
    if codecs_of_label[:1] in (("utf_16",), ("utf-16",)) and b"\0" not in data:
        codecs_of_label = ("utf-8", *codecs_of_label)
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        codecs_of_label = (*codecs_of_label, "utf_16")
    for codec in (*codecs_of_label, "utf-8"):
        text = _strictly(data, codec)
        if text is not None and not (codec == "utf-8" and _is_escaped(data, codecs_of_label)):
            return text
    if _is_jis(data, codecs_of_label):
        return _decode_jis(data)
    if codecs_of_label[:1] == ("euc_jp",):
        return _decode_euc_jp(data)
    for codec in codecs_of_label[:1] or ("utf-8",):
        text = _leniently(data, codec)
        if text is not None:
            return text
    if codecs_of_label[:1] in ((), ("utf-8",)):
        other = [codec for codec in _codecs(fallback) if codec != "utf-8"]
        return _replacing(data, other[0] if other else detect(data) or _LATIN)
    return _replacing(data, codecs_of_label[0])


def is_known(charset: str | None) -> bool:
    """Whether the declared charset can be trusted."""
    return bool(_codecs(charset))


def detect(data: bytes) -> str | None:
    """Guess the charset of bytes that are neither ASCII nor UTF-8; None if they are too few."""
    # The tags of a page are not letters of its language.
    window = _MARKUP.sub(b" ", data[: 16 * _SAMPLE])
    foreign = [word for word in window.split() if not word.isascii()]
    # Cut between words, not inside a letter of two bytes.
    sample = b" ".join(foreign)[:_SAMPLE]
    sample = sample if len(sample) < _SAMPLE else sample.rpartition(b" ")[0] or sample
    beside = len(_ASCII_RUN.sub(b"", sample))
    if beside < _MIN_GUESSED:
        return None
    if beside * 2 < len(sample):
        return latin_charset(b" ".join(foreign)[:_SAMPLE])
    letters = {byte for byte in sample if byte >= 0xC0}
    # Cyrillic uses bytes beyond 0xFA and capitals, Hebrew none of them.
    if beside >= 2 * _MIN_GUESSED and letters <= set(range(0xE0, 0xFB)) and b"\xe5" in sample:
        return "cp1255"
    # Hiragana occupy one row, which Chinese text does not use.
    if 8 * len(_HIRAGANA.findall(sample)) > beside:
        return "euc_jp"
    return _best(sample)


def _other_charset(data: bytes, named: tuple[str, ...]) -> str | None:
    """The actual charset of bytes that are certainly not in the declared one, although it accepts them."""
    if not named or named[0].startswith("utf") or data.isascii():
        return None
    is_latin = named[0] in _LATIN_LABELS
    letters = len(_UTF_8_LETTER.findall(data[: 16 * _SAMPLE]))
    if letters >= (1 if is_latin else _MIN_LETTERS) and _strictly(data, "utf-8") is not None:
        return "utf-8"
    sample = _MARKUP.sub(b" ", data[: 16 * _SAMPLE])
    high = _ASCII_RUN.sub(b"", sample)
    if not is_latin or len(set(high)) < 2 * _MIN_GUESSED or len(high) <= len(_ASCII_LETTER.findall(sample)):
        return None
    return detect(data)


def _best(sample: bytes) -> str | None:
    """The likeliest charset that is not Latin."""
    # Imported on demand: workers, which read no strangers' mail, would spend memory on it.
    from charset_normalizer import from_bytes

    found = [
        match
        for match in from_bytes(sample, cp_isolation=_GUESSES, enable_fallback=False)
        if 2 * len(_HALF_WIDTH.findall(str(match))) < len(str(match))
    ]
    if not found:
        return None
    least = min(match.chaos for match in found)
    orderly = [match for match in found if match.chaos <= least + 0.02]
    most = max(match.coherence for match in orderly)
    names = {
        name: _odd_capitals(str(match))
        for match in orderly
        if match.coherence >= most
        for name in (match.encoding, *match.could_be_from_charset)
    }
    return min(names, key=lambda name: (names[name], _GUESSES.index(name) if name in _GUESSES else len(_GUESSES)))


def _odd_capitals(text: str) -> int:
    """Whether capitals follow small letters, as in Cyrillic that is decoded with the wrong table."""
    return sum(before.islower() and after.isupper() for before, after in pairwise(text))


def _strictly(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except (ValueError, LookupError):
        return None


def _leniently(data: bytes, codec: str) -> str | None:
    """`data` with U+FFFD for its bad bytes, if they are few compared to the letters that the codec decodes."""
    text = _replacing(data, codec)
    bad = text.count("\ufffd")
    good = sum(char > "\x7f" for char in text) - bad
    return text if bad * 4 <= good or (bad == 1 and good and text.endswith("\ufffd")) else None


def _replacing(data: bytes, codec: str) -> str:
    try:
        return data.decode(codec, "replace")
    except (ValueError, LookupError):
        return data.decode(_LATIN, "replace")


def _codecs(charset: str | None) -> tuple[str, ...]:
    """Python's codecs for a declared name, the first to try in front; empty for a meaningless name."""
    if not charset or len(charset) > 60 or not charset.isascii():
        return ()
    written = charset.strip().strip("\"'").partition(";")[0].partition("//")[0].partition(":")[0].partition("$")[0]
    spelled = encodings.normalize_encoding(written.strip()).lower()
    plain = _FILLING.sub("", written.lower())
    short = plain.removeprefix("x")
    module = _NAMES.get(plain) or _NAMES.get(short) or _numbered(short)
    module = module or _KNOWN.get(spelled) or _KNOWN.get(spelled.replace(".", "_")) or _KNOWN.get(short)
    if module is None or module in _NO_CHARSET:
        return ()
    try:
        info = codecs.lookup(module)
    except LookupError:
        return ()
    # `_is_text_encoding` excludes zlib, bz2 and hex: a subject must not unpack to a gigabyte.
    if not getattr(info, "_is_text_encoding", True):
        return ()
    return _SUPERSETS.get(info.name, (info.name,))


def _numbered(short: str) -> str | None:
    """Find `windows1251`, `cp850` or `iso88592` by its number, whatever follows it."""
    if page := _CODE_PAGE.match(short):
        number = int(page.group(1))
        if 28_591 <= number <= 28_605:
            return f"iso8859_{number - 28_590}" if f"iso8859_{number - 28_590}" in _KNOWN else None
        name = _NAMES.get(f"cp{number}", f"cp{number:03}")
        return name if name in _KNOWN else None
    if part := _ISO_8859.match(short):
        return found if (found := f"iso8859_{part.group(1)}") in _KNOWN else None
    return None


def _is_escaped(data: bytes, named: tuple[str, ...]) -> bool:
    """Whether escape sequences show that ASCII bytes are another script, although UTF-8 would accept them."""
    return b"\x1b" in data and _is_jis(data, named)


def _is_jis(data: bytes, named: tuple[str, ...]) -> bool:
    return named[:1] == ("iso2022_jp_ext",) or (
        named[:1] in ((), ("utf-8",)) and _JIS_SIGN.search(data) is not None and data.isascii()
    )


def _decode_jis(data: bytes) -> str:
    """ISO-2022-JP as Windows writes it: with NEC's row 13, IBM's letters and half-width kana."""
    out: list[str] = []
    mode = b"\x1b(B"
    for piece in _JIS_SHIFT.split(data, maxsplit=_MAX_SHIFTS):
        if _JIS_SHIFT.fullmatch(piece):
            mode = b"\x1b(I" if piece == b"\x0e" else b"\x1b(B" if piece == b"\x0f" else piece
        elif mode in (b"\x1b$@", b"\x1b$B", b"\x1b$(@", b"\x1b$(B"):
            out.append(_decode_rows(piece))
        elif mode in (b"\x1b$A", b"\x1b$(C", b"\x1b$(D"):
            high = bytes(byte | 0x80 if 0x20 < byte < 0x7F else byte for byte in piece)
            if mode == b"\x1b$(D":
                high = re.sub(rb"([\xa1-\xfe]{2})", rb"\x8f\1", high)
            out.append(high.decode({65: "gb18030", 67: "cp949", 68: "euc_jp"}[mode[-1]], "replace"))
        elif mode == b"\x1b(I":
            out.append(bytes(byte | 0x80 if 0x20 < byte < 0x60 else byte for byte in piece).decode("cp932", "replace"))
        else:
            out.append(piece.decode("cp932", "replace"))
    return "".join(out)


def _decode_euc_jp(data: bytes) -> str:
    """EUC-JP as Windows writes it, with the same letters beyond the standard."""
    out: list[str] = []
    for piece in re.split(rb"((?:[\xa1-\xfe][\xa1-\xfe])+)", data):
        rows = piece[:1] >= b"\xa1" and len(piece) % 2 == 0
        out.append(_decode_rows(bytes(b & 0x7F for b in piece)) if rows else piece.decode("euc_jp", "replace"))
    return "".join(out)


def _decode_rows(pairs: bytes) -> str:
    """Rows and cells of JIS X 0208, two bytes of 7 bits each, by Windows' table; controls stand for themselves."""
    shifted = bytearray()
    index = 0
    while index < len(pairs):
        row, cell = pairs[index], pairs[index + 1] if index + 1 < len(pairs) else 0
        if not (0x20 < row < 0x7F and 0x20 < cell < 0x7F):
            shifted += pairs[index : index + 1] if row <= 0x20 else b"\x80"
            index += 1
            continue
        lead = (row - 0x21) // 2 + 0x81
        shifted.append(lead if lead <= 0x9F else lead + 0x40)
        odd = cell + 0x1F + (cell >= 0x60)
        shifted.append(odd if row % 2 else cell + 0x7E)
        index += 2
    return shifted.decode("cp932", "replace")
