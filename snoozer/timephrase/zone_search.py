"""Time zones by what a person types: a city, a country, an abbreviation such as IST, or the name of the zone.

Cities and countries come from `zone.tab` and `iso3166.tab` of the tz database.
"""

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from snoozer.timephrase.zones import ABBREVIATIONS, NAMES, zone_in_words

MAX_FOUND = 8

_EXACT = 1


@dataclass(frozen=True)
class Place:
    """A zone, with the city that it is named after, its countries, and the abbreviations of its time."""

    zone: str
    city: str
    countries: tuple[str, ...]
    abbreviations: tuple[str, ...]


def resolve(typed: str, *, year: int) -> str | None:
    """The only zone that can be meant: its name or its city, or the only zone of a country or an abbreviation. EST and
    CET are names, too, but of zones that people seldom mean by them."""
    name = NAMES.get(typed.strip().replace(" ", "_").lower())
    if name is not None and "/" in name:
        return name
    ranked = [(rank, place) for rank, place in _ranked(typed, year=year) if rank <= _EXACT]
    best = [place for rank, place in ranked if rank == ranked[0][0]]
    if len(best) == 1:
        return best[0].zone
    return None if ranked else name


def search(typed: str, *, year: int) -> tuple[Place, ...]:
    """The zones that may be meant, the likeliest first, at most `MAX_FOUND`."""
    return tuple(place for _, place in _ranked(typed, year=year)[:MAX_FOUND])


@lru_cache(maxsize=2)
def places(year: int) -> tuple[Place, ...]:
    """One place for each zone in use; zones of a country are adjacent, its largest mostly first. Abbreviations are
    those used in that year."""
    countries = _countries()
    also: dict[str, list[str]] = {}
    for short, (zone, _) in ABBREVIATIONS.items():
        also.setdefault(zone, []).append(short.upper())
    return tuple(
        Place(
            zone=zone,
            city=zone_in_words(zone.rpartition("/")[2]),
            countries=countries.get(zone, ()),
            abbreviations=tuple(dict.fromkeys((*_abbreviations(zone, year), *also.get(zone, ())))),
        )
        for zone in dict.fromkeys((*countries, *sorted(also), "UTC"))
        if zone.lower() in NAMES
    )


def _ranked(typed: str, *, year: int) -> list[tuple[int, Place]]:
    sought = _folded(typed)
    if not sought:
        return []
    found = [(rank, place) for place in places(year) if (rank := _rank(sought, place)) is not None]
    likely = ABBREVIATIONS.get(sought, ("", ""))[0]
    return sorted(found, key=lambda each: (each[0], each[1].zone != likely))


def _rank(sought: str, place: Place) -> int | None:
    city, countries = _folded(place.city), [_folded(country) for country in place.countries]
    exact = {city, _folded(place.zone), *countries, *(short.lower() for short in place.abbreviations)}
    if sought == city:
        return 0
    if sought in exact:
        return _EXACT
    if city.startswith(sought) or any(country.startswith(sought) for country in countries):
        return 2
    if any(word.startswith(sought) for text in (city, *countries) for word in text.split()):
        return 3
    return 4 if sought in _folded(place.zone) else None


def _folded(text: str) -> str:
    """Lower case, without accents, with spaces in place of `_` and `-`."""
    letters = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(plain.replace("_", " ").replace("-", " ").split())


def _abbreviations(zone: str, year: int) -> tuple[str, ...]:
    """The abbreviations in winter and summer; a zone without any has a number such as +03."""
    rules = ZoneInfo(zone)
    names = (rules.tzname(datetime(year, month, 1)) or "" for month in (1, 7))  # noqa: DTZ001 - a wall time of the zone
    return tuple(name for name in names if name.isalpha())


def _countries() -> dict[str, tuple[str, ...]]:
    """The countries in which each zone of `zone.tab` is used."""
    names = dict(row[:2] for row in _table("iso3166.tab"))
    found: dict[str, tuple[str, ...]] = {}
    for code, _, zone, *_ in _table("zone.tab"):
        found[zone] = (*found.get(zone, ()), names[code])
    return found


def _table(name: str) -> list[list[str]]:
    text = (files("tzdata") / "zoneinfo" / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
