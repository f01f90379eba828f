import pytest

from snoozer.db.state_words import Answer, public_state, was_sent


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


@pytest.mark.parametrize(
    ("state", "resolution", "answer"),
    [
        (None, None, "no"),
        ("reserved", None, "not yet"),
        ("sending", None, "perhaps"),
        ("uncertain", None, "perhaps"),
        ("sent", None, "yes"),
        ("sent", "digest", "yes"),
        ("failed", None, "no"),
        ("failed", "dismissed", "perhaps"),
    ],
)
def test_what_may_have_been_sent_is_never_denied(state: str | None, resolution: str | None, answer: Answer) -> None:
    assert was_sent(state, resolution) == answer
