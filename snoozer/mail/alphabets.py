"""Guesses the charset of unlabelled text in Latin letters, by the alphabets of the languages that use each charset."""

import re

# Letters other than a to z, the languages of Windows-1252 first: if several match, the result is mostly the same.
_ALPHABETS = (
    *(("cp1252", letters) for letters in ("äöüß", "àâæçéèêëîïôœùûüÿ", "áéíñóúü", "àáâãçéêíóôõúü", "àèéìòù")),
    *(("cp1252", letters) for letters in ("åäöé", "æøåéóòôè", "àáäèéêëïíîóöüú", "àçèéíïòóúü", "äöüõ")),
    ("cp1254", "çğıİöşüâîû"),
    *(("cp1252", letters) for letters in ("áðéíóúýþæö",)),
    *((codec, "ąćęłńóśźż") for codec in ("cp1250", "iso8859_2")),
    *((codec, "áčďéěíňóřšťúůýž") for codec in ("cp1250", "iso8859_2")),
    *((codec, "áéíóöőúüű") for codec in ("cp1250", "iso8859_2")),
    *((codec, "áäčďéíĺľňóôŕšťúýž") for codec in ("cp1250", "iso8859_2")),
    *((codec, "čćđšž") for codec in ("cp1250", "iso8859_2")),
    *((codec, "ăâîşţ") for codec in ("cp1250", "iso8859_2")),
    *(("cp1257", letters) for letters in ("ąčęėįšųūž", "āčēģīķļņšūž", "äõöüšž")),
    ("cp1252", "àáâãäåæçèéêëìíîïñòóôõöøœùúûüýÿß"),
)
# A sign between two letters shows that the charset is wrong.
_IN_WORD = re.compile(r"(?<=[^\W\d_])[^\w\s\x00-\x7f](?=[^\W\d_])")
_SIGNS = frozenset("’‘´–—\xad\xb7…\xa0“”„«»")


def latin_charset(data: bytes) -> str | None:
    """The first charset in which every letter of `data` belongs to the same language; None if there is none."""
    for codec, alphabet in _ALPHABETS:
        text = data.decode(codec, "replace")
        letters = {char for char in set(text) if char > "\x7f" and (char.isalpha() or char == "\ufffd")}
        signs = set(_IN_WORD.findall(text)) - _SIGNS
        if not signs and all(char in alphabet or char.lower() in alphabet for char in letters):
            return codec
    return None
