"""A zone is found by its city, its country or its abbreviation, and a doubtful one is not taken."""

import pytest

from snoozer.timephrase.zone_search import MAX_FOUND, resolve, search


@pytest.mark.parametrize(
    ("typed", "zone"),
    [
        ("New York", "America/New_York"),
        ("america/new_york", "America/New_York"),
        ("são paulo", "America/Sao_Paulo"),
        ("Port-au-Prince", "America/Port-au-Prince"),
        ("Japan", "Asia/Tokyo"),
        ("India", "Asia/Kolkata"),
        ("utc", "UTC"),
    ],
)
def test_a_city_a_country_of_one_zone_and_a_name_are_clear(typed: str, zone: str) -> None:
    assert resolve(typed, year=2026) == zone


@pytest.mark.parametrize(
    "typed", ["IST", "EST", "BST", "CST", "Germany", "United States", "kolk", "", "  ", "Middle Earth"]
)
def test_what_is_not_clear_is_not_taken(typed: str) -> None:
    assert resolve(typed, year=2026) is None


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("IST", "Asia/Kolkata"),
        ("est", "America/New_York"),
        ("MESZ", "Europe/Berlin"),
        ("germany", "Europe/Berlin"),
        ("United States", "America/New_York"),
        ("york", "America/New_York"),
        ("kolk", "Asia/Kolkata"),
    ],
)
def test_the_likeliest_is_found_first(typed: str, first: str) -> None:
    found = search(typed, year=2026)
    assert found[0].zone == first
    assert len(found) <= MAX_FOUND


@pytest.mark.parametrize("typed", ["", " ", "\x00", "x" * 10_000, "💤", "__", "%"])
def test_anything_typed_finds_nothing_or_something_and_fails_never(typed: str) -> None:
    assert search(typed, year=2026) == ()
