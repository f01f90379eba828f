"""Nothing comes within a rest, nothing earlier than it was promised, and all of it soon after, whatever clocks do."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from snoozer.timephrase.day_shape import Days, DayShape, DayShapeError

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia", "America/Havana"]
NIGHT: dict[str, Any] = {"quiet_from": time(22), "quiet_until": time(7)}
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)

times = st.times().map(lambda at: at.replace(second=0, microsecond=0))
instants = st.integers(0, 28 * 366 * 24 * 60).map(lambda minutes: datetime(2009, 1, 1, tzinfo=UTC) + minutes * MINUTE)


@st.composite
def shapes(draw: st.DrawFn) -> DayShape:
    work_from, work_until = sorted(draw(st.lists(times, min_size=2, max_size=2, unique=True)))
    values: dict[str, Any] = {
        "working_days": draw(st.frozensets(st.integers(1, 7), min_size=1)),
        "work_from": work_from,
        "work_until": work_until,
        "rests_on_days_off": draw(st.booleans()),
    }
    if draw(st.booleans()):
        values["quiet_from"], values["quiet_until"] = draw(st.lists(times, min_size=2, max_size=2, unique=True))
        end_off = draw(st.none() | times)
        overnight = values["quiet_from"] > values["quiet_until"]
        if end_off is not None and end_off != values["quiet_from"] and (values["quiet_from"] > end_off) == overnight:
            values["quiet_until_off"] = end_off
    if draw(st.booleans()):
        away = draw(st.dates(min_value=date(2009, 1, 1), max_value=date(2036, 1, 1)))
        values |= {"away_from": away, "back_on": away + draw(st.integers(1, 60)) * DAY}
    shape = DayShape(**values)
    shape.check()
    return shape


def lets_nothing_through(shape: DayShape, wall: datetime) -> bool:
    """By what the clock on the wall shows, apart from the rule."""
    day, at = wall.date(), wall.time()
    if shape.away_from is not None and shape.back_on is not None:
        gone, back = datetime.combine(shape.away_from, time(0)), datetime.combine(shape.back_on, shape.work_from)
        if gone <= wall < back:
            return True
    if shape.rests_on_days_off and day.isoweekday() not in shape.working_days:
        return True
    if shape.quiet_from is None or shape.quiet_until is None:
        return False
    if shape.quiet_from < shape.quiet_until:
        return shape.quiet_from <= at < (shape.ends_quiet_on(day) or shape.quiet_until)
    return at >= shape.quiet_from or at < (shape.ends_quiet_on(day) or shape.quiet_until)


@given(shape=shapes(), promise=instants, zone=st.sampled_from(ZONES))
def test_nothing_comes_early_or_within_a_rest(shape: DayShape, promise: datetime, zone: str) -> None:
    days = Days(shape, ZoneInfo(zone))
    arrival = days.arrival(promise)
    assert arrival.at >= promise
    assert not lets_nothing_through(shape, arrival.at.astimezone(ZoneInfo(zone)).replace(tzinfo=None))
    assert days.arrival(arrival.at).at == arrival.at
    assert (arrival.reason is None) == (arrival.at == promise)


@given(shape=shapes(), promise=instants, zone=st.sampled_from(ZONES))
def test_what_is_deferred_waits_no_longer_than_its_rest(shape: DayShape, promise: datetime, zone: str) -> None:
    """A minute earlier it would have come within a rest, or it comes when it was promised."""
    days = Days(shape, ZoneInfo(zone))
    arrival = days.arrival(promise)
    away = shape.back_on - shape.away_from if shape.back_on and shape.away_from else timedelta(0)
    assert arrival.at - promise <= away + 10 * DAY
    if arrival.reason is not None:
        rest = days.next_rest(arrival.at - MINUTE)
        assert rest is not None
        assert rest.starts < arrival.at == rest.ends


@given(shape=shapes(), promise=instants, later=st.timedeltas(min_value=timedelta(0), max_value=30 * DAY))
def test_what_was_promised_later_comes_no_earlier(shape: DayShape, promise: datetime, later: timedelta) -> None:
    days = Days(shape, BERLIN)
    assert days.arrival(promise).at <= days.arrival(promise + later).at


@example(
    shape=DayShape(quiet_from=time(2), quiet_until=time(3)),
    at=datetime(2027, 3, 27, 12, tzinfo=UTC),
    zone="Europe/Berlin",
)
@given(shape=shapes(), at=instants, zone=st.sampled_from(ZONES))
def test_until_the_next_rest_everything_comes(shape: DayShape, at: datetime, zone: str) -> None:
    days = Days(shape, ZoneInfo(zone))
    rest = days.next_rest(at)
    if rest is not None:
        assert rest.starts < rest.ends
        assert at < rest.ends
        if rest.starts > at:
            assert days.arrival(at).at == at
            assert days.arrival(rest.starts).at == rest.ends


@pytest.mark.parametrize(
    ("promise", "comes", "reason"),
    [
        ("2026-11-24 22:30", "2026-11-25 07:00", "quiet"),
        ("2026-11-24 22:00", "2026-11-25 07:00", "quiet"),
        ("2026-11-25 07:00", "2026-11-25 07:00", None),
        ("2026-11-24 21:59", "2026-11-24 21:59", None),
        ("2026-11-27 23:00", "2026-11-30 07:00", "day off"),
        ("2026-12-23 23:00", "2027-01-04 09:00", "vacation"),
        ("2026-12-26 12:00", "2027-01-04 09:00", "vacation"),
        ("2027-01-04 09:00", "2027-01-04 09:00", None),
    ],
)
def test_a_week_as_a_person_would_tell_it(promise: str, comes: str, reason: str | None) -> None:
    shape = DayShape(**NIGHT, rests_on_days_off=True, away_from=date(2026, 12, 24), back_on=date(2027, 1, 4))
    arrival = Days(shape, BERLIN).arrival(datetime.fromisoformat(promise).replace(tzinfo=BERLIN))
    assert (f"{arrival.at.astimezone(BERLIN):%Y-%m-%d %H:%M}", arrival.reason) == (comes, reason)


@pytest.mark.parametrize(
    ("quiet", "asked", "comes"),
    [
        # 02:00 to 03:00 is skipped on 28 March 2027, and comes twice on 25 October 2026.
        ((22, 2.5), "2027-03-28T01:00+01:00", "2027-03-28T03:00+02:00"),
        ((2.5, 7), "2027-03-28T03:00+02:00", "2027-03-28T07:00+02:00"),
        ((22, 2.5), "2026-10-25T02:10+02:00", "2026-10-25T02:30+01:00"),
        ((22, 2.5), "2026-10-25T02:40+02:00", "2026-10-25T02:30+01:00"),
        ((2.5, 7), "2026-10-25T02:10+01:00", "2026-10-25T07:00+01:00"),
    ],
)
def test_quiet_hours_begin_and_end_where_clocks_change(quiet: tuple[float, float], asked: str, comes: str) -> None:
    start, end = (time(int(hour), round(hour % 1 * 60)) for hour in quiet)
    days = Days(DayShape(quiet_from=start, quiet_until=end), BERLIN)
    assert days.arrival(datetime.fromisoformat(asked)).at == datetime.fromisoformat(comes)


def test_quiet_hours_end_later_on_days_off() -> None:
    days = Days(DayShape(**NIGHT, quiet_until_off=time(9)), BERLIN)
    friday_night = days.arrival(datetime(2026, 11, 27, 23, tzinfo=BERLIN))
    sunday_night = days.arrival(datetime(2026, 11, 29, 23, tzinfo=BERLIN))
    assert friday_night.at.astimezone(BERLIN).hour == 9
    assert sunday_night.at.astimezone(BERLIN).hour == 7


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("working_days", {"working_days": frozenset()}),
        ("work_until", {"work_from": time(17), "work_until": time(9)}),
        ("quiet_until", {"quiet_from": time(22)}),
        ("quiet_from", {"quiet_until": time(7)}),
        ("quiet_from", {"quiet_until_off": time(7)}),
        ("quiet_until", {"quiet_from": time(22), "quiet_until": time(22)}),
        ("quiet_until_off", NIGHT | {"quiet_until_off": time(22)}),
        ("quiet_until_off", NIGHT | {"quiet_until_off": time(23)}),
        ("back_on", {"away_from": date(2026, 12, 24)}),
        ("away_from", {"back_on": date(2026, 12, 24)}),
        ("back_on", {"away_from": date(2026, 12, 24), "back_on": date(2026, 12, 24)}),
        ("back_on", {"away_from": date(2026, 12, 24), "back_on": date(2028, 1, 1)}),
    ],
)
def test_a_shape_that_makes_no_sense_names_its_field(field: str, values: dict[str, Any]) -> None:
    with pytest.raises(DayShapeError) as refused:
        DayShape(**values).check()
    assert refused.value.field == field


def test_the_ends_of_the_calendar_are_no_error() -> None:
    days = Days(DayShape(**NIGHT), BERLIN)
    for at in (datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)):
        assert days.arrival(at).at >= at
