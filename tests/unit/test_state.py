from datetime import UTC, datetime, timedelta

import pytest

from snoozer.domain.state import Outcome, state_of

NOW = datetime(2026, 3, 5, 10, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("inactive", "outcome", "claimed", "due", "state"),
    [
        (False, None, False, False, "asleep"),
        (False, None, False, True, "due"),
        (False, None, True, True, "claimed"),
        (True, None, False, True, "paused"),
        (True, "sent", False, True, "sent"),
        (True, "cancelled", False, False, "cancelled"),
        (True, "retired", False, True, "retired"),
    ],
)
def test_the_state_of_a_snooze_is_one_word(
    inactive: bool, outcome: Outcome | None, claimed: bool, due: bool, state: str
) -> None:
    promise = NOW - timedelta(minutes=1) if due else NOW + timedelta(minutes=1)
    assert state_of(inactive=inactive, outcome=outcome, claimed=claimed, due_at=promise, now=NOW) == state
