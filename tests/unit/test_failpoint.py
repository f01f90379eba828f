import pytest

from snoozer.runtime import failpoint
from snoozer.runtime.failpoint import FailpointReached, InvalidFailpoint


def test_it_fires_at_the_nth_passage_of_its_step_and_once() -> None:
    point = failpoint.parse("body:raise:2")
    point("body", "<1@x>")
    point("dot", "<1@x>")
    with pytest.raises(FailpointReached):
        point("body", "<2@x>")
    point("body", "<3@x>")


def test_it_fires_for_the_named_message_only() -> None:
    point = failpoint.parse("dot:raise@<2@x>")
    point("dot", "<1@x>")
    with pytest.raises(FailpointReached):
        point("dot", "<2@x>")


@pytest.mark.parametrize(
    "spelling", ["", "body", "body:die", "nowhere:kill", "body:kill:0", "body:kill:x", "body:kill@"]
)
def test_a_misspelt_failpoint_is_refused_and_not_ignored(spelling: str) -> None:
    with pytest.raises(InvalidFailpoint):
        failpoint.parse(spelling)


def test_a_step_of_a_move_has_a_name_of_its_own() -> None:
    point = failpoint.parse("imap_copied:raise@<2@x>")
    point("imap_flagged", "<2@x>")
    with pytest.raises(FailpointReached):
        point("imap_copied", "<2@x>")
