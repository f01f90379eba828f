"""Bytes to text in whatever charset a message declares. Never raises."""

import codecs
import encodings
from encodings.aliases import aliases
from pkgutil import iter_modules

# Text codecs that are not charsets of mail; some take quadratic time on hostile input.
_NO_CHARSET = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"})

# Python caches each name it looked up, known or not, for ever, so only these are looked up.
_KNOWN = {name: name for _, name, _ in iter_modules(encodings.__path__)} | aliases

# Supersets that senders use under the name of the smaller charset.
_SUPERSETS = {
    "ascii": "utf-8",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "iso2022_jp": "iso2022_jp_ext",
}

_LAST_RESORT = {"utf-8": "cp1252"}


def decode_bytes(data: bytes, charset: str | None) -> str:
    """`data` in its declared charset; where that is unknown or wrong, UTF-8 if it fits, else with U+FFFD.

    Without a charset the last resort is Windows-1252, which nearly always fits.
    """
    codec = _codec(charset) or "utf-8"
    for attempt, errors in ((codec, "strict"), ("utf-8", "strict"), (_LAST_RESORT.get(codec, codec), "replace")):
        try:
            return data.decode(attempt, errors)
        except UnicodeDecodeError:
            continue
        except (ValueError, LookupError):
            break
    return decode_bytes(data, None)


def _codec(charset: str | None) -> str | None:
    if not charset or len(charset) > 60 or not charset.isascii():
        return None
    spelled = encodings.normalize_encoding(charset.strip().strip("\"'")).lower()
    module = _KNOWN.get(spelled) or _KNOWN.get(spelled.replace(".", "_"))
    if module is None or module in _NO_CHARSET:
        return None
    try:
        info = codecs.lookup(module)
    except LookupError:
        return None
    # `_is_text_encoding` keeps zlib, bz2 and hex away: a subject must not unpack to a gigabyte.
    if not getattr(info, "_is_text_encoding", True):
        return None
    return _SUPERSETS.get(info.name, info.name)
