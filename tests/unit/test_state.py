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
    ("state", "resolution", "code", "answer"),
    [
        (None, None, None, "no"),
        ("reserved", None, None, "not yet"),
        ("sending", None, None, "perhaps"),
        ("uncertain", None, None, "perhaps"),
        ("sent", None, 250, "yes"),
        ("sent", "digest", None, "yes"),
        ("failed", None, None, "not yet"),
        ("failed", None, 451, "not yet"),
        ("failed", "resend", None, "not yet"),
        ("failed", None, 550, "no"),
        ("failed", "dropped", None, "no"),
        ("failed", "dismissed", None, "perhaps"),
    ],
)
def test_what_may_have_been_sent_is_never_denied(
    state: str | None, resolution: str | None, code: int | None, answer: Answer
) -> None:
    assert was_sent(state, resolution, code) == answer
