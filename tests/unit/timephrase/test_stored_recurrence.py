"""A stored recurrence may come from any program: it is well-formed, or `from_json` raises ValueError."""

from datetime import UTC, date, datetime, time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoozer.timephrase.date_format import DateFormat
from snoozer.timephrase.describe import describe_recurrence
from snoozer.timephrase.recurrence import Recurrence, next_occurrence

PLAIN: dict[str, Any] = {
    "unit": "day",
    "interval": 1,
    "start": "2026-03-02",
    "at": "09:00:00",
    "until": None,
    "weekdays": [],
    "rest": [5, 6],
}
MONTHLY_ON_THE_FIRST = PLAIN | {"unit": "month", "day": 1}


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        "every day",
        7,
        {},
        PLAIN | {"unit": "hour"},
        PLAIN | {"unit": None},
        PLAIN | {"unit": ["day"]},
        PLAIN | {"interval": 0},
        PLAIN | {"interval": 1.5},
        PLAIN | {"interval": True},
        PLAIN | {"interval": "1"},
        PLAIN | {"interval": 10**30},
        PLAIN | {"start": "soon"},
        PLAIN | {"start": 20260302},
        PLAIN | {"at": "25:00"},
        PLAIN | {"at": "09:00+02:00"},
        PLAIN | {"until": "?"},
        PLAIN | {"until": 5},
        PLAIN | {"weekdays": None},
        PLAIN | {"weekdays": [7]},
        PLAIN | {"weekdays": "01"},
        PLAIN | {"rest": [-1]},
        PLAIN | {"rest": list(range(7)), "weekend_rule": "after"},
        PLAIN | {"weekend_rule": "sometimes"},
        PLAIN | {"week_start": 9},
        PLAIN | {"times": 0},
        PLAIN | {"times": 10**30},
        PLAIN | {"nth": 1},
        PLAIN | {"unit": "week"},
        PLAIN | {"unit": "month"},
        PLAIN | {"unit": "year", "month": 3},
        PLAIN | {"unit": "month", "nth": 1},
        PLAIN | {"unit": "month", "nth": 0, "weekdays": [0]},
        PLAIN | {"unit": "month", "nth": -2, "weekdays": [0]},
        PLAIN | {"unit": "month", "nth": 6, "weekdays": [0]},
        MONTHLY_ON_THE_FIRST | {"day": 0},
        MONTHLY_ON_THE_FIRST | {"day": "1"},
        MONTHLY_ON_THE_FIRST | {"day": 32},
        MONTHLY_ON_THE_FIRST | {"unit": "year", "month": 13},
        PLAIN | {"phase": "full moon"},
    ],
    ids=str,
)
def test_a_malformed_recurrence_raises(plain: object) -> None:
    with pytest.raises(ValueError, match=r"recurrence|isoformat|must be in"):
        Recurrence.from_json(plain)


@pytest.mark.parametrize("plain", [PLAIN, MONTHLY_ON_THE_FIRST], ids=str)
def test_a_well_formed_recurrence_loads(plain: dict[str, Any]) -> None:
    assert next_occurrence(Recurrence.from_json(plain), after=datetime(2026, 3, 5, tzinfo=UTC), zone="UTC")


WHOLE = Recurrence(
    unit="month", interval=2, start=date(2026, 3, 2), at=time(9), weekdays=(0, 4), nth=1, day=3
).as_json()

# What JSON may hold where a number, a word, a date or a list is due.
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.integers(),
    st.floats(allow_nan=False),
    st.sampled_from(
        ["day", "week", "month", "year", "before", "2026-03-02", "9999-12-31", "0001-01-01", "09:00", "", "x"]
    ),
    st.lists(st.integers(-1, 8), max_size=8),
)


@given(strange=st.dictionaries(st.sampled_from(sorted(WHOLE)), anything, max_size=3))
def test_any_stored_recurrence_raises_or_has_occurrences(strange: dict[str, Any]) -> None:
    try:
        recurrence = Recurrence.from_json(WHOLE | strange)
    except ValueError:
        return
    after = datetime(2026, 3, 5, tzinfo=UTC)
    found = next_occurrence(recurrence, after=after, zone="Europe/Berlin")
    assert found is None or found > after
    assert describe_recurrence(recurrence, dates=DateFormat.of("de_DE"))
