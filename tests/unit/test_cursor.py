"""Claims start behind what was claimed before, and now and then, but not each time, at the very beginning."""

from datetime import UTC, datetime, timedelta

from snoozer.delivery.claiming import LAG, MAX_ID, SWEEP_SECONDS, SWEEP_SPACING, ExactCursor, TrailingCursor
from snoozer.queue.reminder import Claim
from tests.factories import a_claim

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def claims(*seconds: int) -> list[Claim]:
    return [a_claim(second, remind_at=NOON + timedelta(seconds=second)) for second in seconds]


def test_a_trailing_cursor_starts_a_lag_before_the_first_row_and_sweeps_every_so_often() -> None:
    cursor = TrailingCursor()
    assert cursor.start(100.0) is None
    cursor.advance(claims(3, 1, 2))
    behind = (NOON + timedelta(seconds=1) - LAG, 0)
    assert cursor.start(100.1) == behind
    cursor.advance([])
    assert cursor.start(99.9 + SWEEP_SECONDS) == behind
    assert cursor.start(100.0 + SWEEP_SECONDS) is None


def moved(cursor: ExactCursor, *found: int, room: int) -> object:
    """Where the next claim starts; `found` are the seconds past noon of the rows that were claimed."""
    cursor.advance(claims(*found), full=len(found) >= room, until=NOON + timedelta(hours=1))
    return cursor.after


def test_an_exact_cursor_starts_after_the_last_row_of_a_full_claim() -> None:
    assert moved(ExactCursor(), 1, 3, 2, room=3) == (NOON + timedelta(seconds=3), 3)


def test_an_exact_cursor_starts_at_the_end_after_a_claim_that_was_not_full() -> None:
    assert moved(ExactCursor(), 1, 3, 2, room=4) == (NOON + timedelta(hours=1), MAX_ID)
    assert moved(ExactCursor(), room=4) == (NOON + timedelta(hours=1), MAX_ID)


def test_a_sweep_goes_on_where_it_was_and_begins_anew_at_the_end() -> None:
    cursor, middle = ExactCursor(), (NOON, 5)
    cursor.advance_sweep([], full=False, until=middle, began=100.0, ended=100.01)
    assert cursor.swept == middle
    assert cursor.is_sweep_due(100.01)
    cursor.advance_sweep(claims(9), full=True, until=(NOON + timedelta(hours=1), 0), began=100.0, ended=100.01)
    assert cursor.swept == (NOON + timedelta(seconds=9), 9)
    cursor.advance_sweep([], full=False, until=None, began=100.0, ended=100.01)
    assert cursor.swept is None


def test_a_short_sweep_is_repeated_soon_and_a_long_one_later() -> None:
    quick, slow = ExactCursor(), ExactCursor()
    quick.advance_sweep([], full=False, until=None, began=100.0, ended=100.01)
    assert not quick.is_sweep_due(100.0 + 0.01 * SWEEP_SPACING)
    assert quick.is_sweep_due(100.02 + 0.01 * SWEEP_SPACING)
    slow.advance_sweep([], full=False, until=None, began=100.0, ended=105.0)
    assert not slow.is_sweep_due(104.9 + SWEEP_SECONDS)
    assert slow.is_sweep_due(105.0 + SWEEP_SECONDS)


def test_where_rows_return_a_trailing_cursor_sweeps_as_often_as_that_is_cheap() -> None:
    cursor = TrailingCursor(rows_return=True)
    assert cursor.start(100.0) is None
    cursor.advance(claims(1), began=100.0, ended=100.01)
    assert cursor.start(100.0 + 0.01 * SWEEP_SPACING) is not None
    assert cursor.start(100.02 + 0.01 * SWEEP_SPACING) is None
