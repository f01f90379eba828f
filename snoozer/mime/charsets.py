"""Bytes of a stranger, in whatever encoding they claim, to text. Never raises."""

import codecs
import encodings
from encodings.aliases import aliases
from pkgutil import iter_modules

# Text codecs that are no charset of mail; some take quadratic time on hostile input.
_NO_CHARSET = frozenset({"punycode", "idna", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem"})

# Python remembers each name that it was ever asked for, known or not, so it is asked for these alone.
_KNOWN = {name: name for _, name, _ in iter_modules(encodings.__path__)} | aliases

# What senders mean when they name the smaller sibling.
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


def decode_guess(data: bytes) -> str:
    """UTF-8 where that fits, else Windows-1252, which nearly always does; the rest becomes U+FFFD."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def decode_bytes(data: bytes, charset: str | None) -> str:
    """`data` in the charset it claims; where the claim is unknown or wrong, the best guess."""
    codec = _codec(charset)
    if codec is None:
        return decode_guess(data)
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            return decode_guess(data) if codec == "utf-8" else data.decode(codec, "replace")
    except (UnicodeError, ValueError, LookupError):
        return decode_guess(data)


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
