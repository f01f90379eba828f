"""A machine that is set up oddly: reminders go out all the same, and one line says what is odd."""

from tests.factories import a_snooze, the_row
from tests.stories.conftest import Field


def test_on_a_machine_for_trials_links_without_base_url_are_warned_of(place: Field) -> None:
    id = a_snooze(place.engine)
    ended = place.run("worker", "--drain", BASE_URL="")
    assert (ended.returncode, the_row(place.engine, id).outcome) == (0, "sent")
    assert ended.stderr.count("BASE_URL is not set") == 1
