"""What a language's data file must hold. `en.py` and `de.py` are filled-in examples; `language.py` names them all."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Region:
    """How one country writes dates and times."""

    month_first: bool
    twelve_hour: bool


@dataclass(frozen=True, kw_only=True)
class WordList:
    """The closed word list of one language.

    `words` maps a role in the grammar to {value: "comma-separated words and phrases"}. One word may play several
    roles. Umlauts are matched with and without their ASCII spelling, so the list needs only the real one.
    """

    name: str
    regions: Mapping[str, Region]
    default_region: str
    ordinal_dot: bool
    decimal_comma: bool
    words: Mapping[str, Mapping[int, str] | Mapping[str, str]]
    presets: tuple[tuple[str, str], ...]
    starters: tuple[str, ...]
    hints: Mapping[str, tuple[str, ...]]
