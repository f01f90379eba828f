"""Languages and regions: a locale such as `de_AT` gives the words, the order of day and month, and the clock.

The words of a language are data: `words/en.json` and `words/de.json`, read once at import. Add a word to a list
or a country to `regions`, and nothing else needs to change.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# The words of a phrase, and the value they stand for.
Entry = tuple[tuple[str, ...], str]

_WORDS = Path(__file__).parent / "words"
_SPELLINGS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "’": "'", "−": "-"})
_LOCALE = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{2}))?(?:[-_.@].*)?", re.ASCII | re.IGNORECASE | re.DOTALL)


def normalize(text: str) -> str:
    """The text as it is compared: lower case, single spaces, umlauts spelt out, no invisible characters. Digits of
    other scripts stay."""
    visible = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return " ".join(unicodedata.normalize("NFC", visible).lower().translate(_SPELLINGS).split())


@dataclass(frozen=True, kw_only=True)
class Region:
    """How one country writes dates and times."""

    month_first: bool
    twelve_hour: bool


@dataclass(frozen=True, kw_only=True)
class WordList:
    """The closed word list of one language, as its file holds it.

    `words` maps a role in the grammar to the words and phrases of each value; one word may play several roles.
    Umlauts match with and without their ASCII spelling. `part_of_day` counts only after a day: "9 Uhr morgen" is
    tomorrow. `named_hour_of_day` needs a day on either side, `hour_mark` one before it.
    """

    name: str
    regions: Mapping[str, Region]
    default_region: str
    ordinal_dot: bool
    decimal_comma: bool
    words: Mapping[str, Mapping[str, tuple[str, ...]]]
    presets: tuple[tuple[str, str], ...]
    default_suggestions: tuple[str, ...]
    hints: Mapping[str, tuple[str, ...]]

    @classmethod
    def load(cls, path: Path) -> "WordList":
        """The word list in a JSON file. Raises KeyError or TypeError if a table is missing, unknown or of another
        shape."""
        plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        regions = {country: Region(**customs) for country, customs in plain.pop("regions").items()}
        words = {role: _tuples(values) for role, values in plain.pop("words").items()}
        presets = tuple((preset["label"], preset["phrase"]) for preset in plain.pop("presets"))
        hints, suggestions = _tuples(plain.pop("hints")), tuple(plain.pop("default_suggestions"))
        return cls(regions=regions, words=words, presets=presets, default_suggestions=suggestions, hints=hints, **plain)


def _tuples(table: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(phrases) for name, phrases in table.items()}


@dataclass(frozen=True, eq=False)
class Language:
    """A word list, indexed for the parser.

    `roles`: role in the grammar → first word → its entries, the longest phrase first. `words`: every single word that
    occurs, alone or in a phrase. `spellings`: a normalized word → its spelling in the list, if they differ.
    """

    data: WordList
    roles: Mapping[str, Mapping[str, tuple[Entry, ...]]]
    words: frozenset[str]
    spellings: Mapping[str, str]

    @classmethod
    def of(cls, data: WordList) -> "Language":
        roles = {role: _by_first_word(values) for role, values in data.words.items()}
        phrases = [phrase for values in data.words.values() for same in values.values() for phrase in same]
        listed = [word for phrase in phrases for word in phrase.split()]
        spellings = {normalize(word): word for word in listed if normalize(word) != word}
        return cls(data, roles, frozenset(map(normalize, listed)), spellings)


def _by_first_word(values: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[Entry, ...]]:
    by_first: dict[str, list[Entry]] = {}
    for value, phrases in values.items():
        for phrase in phrases:
            words = tuple(normalize(phrase).split())
            by_first.setdefault(words[0], []).append((words, value))
    return {first: tuple(sorted(entries, key=lambda entry: -len(entry[0]))) for first, entries in by_first.items()}


LANGUAGES = {name: Language.of(WordList.load(_WORDS / f"{name}.json")) for name in ("en", "de")}
_ENGLISH = LANGUAGES["en"]


@dataclass(frozen=True)
class Locale:
    """A person's language, tried first, then English, which everybody may use; and the region."""

    language: Language
    region: Region

    @property
    def languages(self) -> tuple[Language, ...]:
        return (self.language,) if self.language is _ENGLISH else (self.language, _ENGLISH)

    @classmethod
    def named(cls, name: str) -> "Locale":
        """The locale of that name. An unknown region becomes its language's usual one; a language without a word list
        is read as English with the day before the month and a 24-hour clock, as most of the world writes."""
        match = _LOCALE.fullmatch(name)
        language = LANGUAGES.get(match[1].lower()) if match else None
        if match is None:
            return cls(_ENGLISH, _ENGLISH.data.regions[_ENGLISH.data.default_region])
        if language is None:
            return cls(_ENGLISH, Region(month_first=False, twelve_hour=False))
        data = language.data
        return cls(language, data.regions.get((match[2] or "").upper()) or data.regions[data.default_region])


_NAME = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{2}))?(?:[-_.@][\w.@-]*)?", re.ASCII | re.IGNORECASE)

# ISO 639-1. Three-letter languages are accepted unchecked.
_LANGUAGES = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el
en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu
ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na
nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so
sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
# Country codes of ISO 3166-1.
_COUNTRIES = """
ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by bz
ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk fm fo
fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je
jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo
mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw
py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf tg th tj tk tl tm
tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw
"""


def canonical(name: str) -> str | None:
    """The locale of that name as `en` or `en_GB`, without an encoding; None if language or country is unknown."""
    if name.lower().partition(".")[0] in ("c", "posix"):  # a machine without a locale
        return "en_US"
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    language, country = match[1].lower(), match[2]
    if len(language) == 2 and language not in _LANGUAGES.split():
        return None
    if country is None:
        return language
    return f"{language}_{country.upper()}" if country.lower() in _COUNTRIES.split() else None
