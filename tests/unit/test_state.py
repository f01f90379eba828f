import pytest

from snoozer.domain.state import public_state


@pytest.mark.parametrize(
    ("state", "why", "word"),
    [
        ("asleep", None, "asleep"),
        ("due", None, "due"),
        ("waiting", "key", "due"),
        ("waiting", "retry", "due"),
        ("waiting", "rest", "asleep"),
        ("uncertain", "hold", "due"),
        ("uncertain", "rest", "asleep"),
        ("held", None, "claimed"),
        ("leaving", None, "claimed"),
        ("paused", "operator_pause", "paused"),
        ("sent", None, "sent"),
        ("cancelled", None, "cancelled"),
        ("case", None, "retired"),
    ],
)
def test_programs_and_people_read_fewer_words(state: str, why: str | None, word: str) -> None:
    assert public_state(state, why) == word
