"""A message of a paused snooze that another program takes out of the folder of what is snoozed, or deletes: it is its
owner's, the snooze stays paused and says so, and what comes once it is resumed is its reminder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from snoozer.snoozes.acts import Pause, Resume
from snoozer.web import create_app
from tests.acting import done
from tests.factories import an_original
from tests.imap.watched import Place, a_worker

pytestmark = pytest.mark.dovecot

MESSAGE = "<paused@mail.example>"
FORGOTTEN = "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM messages)"


@pytest.fixture
def place(place: Place) -> Place:
    place.program.deliver(an_original(message_id=MESSAGE))
    return place


def asleep_and_paused(place: Place) -> int:
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    id = int(place.snooze_of(MESSAGE).id)
    with place.engine.begin() as connection:
        assert done(connection, id, Pause(), email=place.person.email)
    return id


def history(place: Place, id: int) -> str:
    client = create_app(engine=place.engine, settings=place.settings).test_client()
    client.set_cookie("snoozer_session", place.person.session)
    return client.get(f"/snoozes/{id}").text


def moved(place: Place) -> None:
    place.program.create("Work")
    place.program.move(place.snoozed, "Work")


def moved_home(place: Place) -> None:
    place.program.move(place.snoozed, "INBOX")


def deleted(place: Place) -> None:
    place.program.mark_deleted(place.snoozed)
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE place = 'missing'"))
    place.run("UPDATE messages SET missing_since = missing_since - INTERVAL '11 minutes'")


@pytest.mark.parametrize(
    ("take", "folder", "says"),
    [
        (moved, "Work", "You took its message out of the folder of what is snoozed. It stays paused"),
        (moved_home, "INBOX", "You took its message out of the folder of what is snoozed. It stays paused"),
        (deleted, None, "Its message was deleted in your mailbox, or put where it is not found. It stays paused"),
    ],
)
def test_the_snooze_stays_paused_and_its_reminder_comes_once_it_is_resumed(
    place: Place, tmp_path: Path, take: Callable[[Place], None], folder: str | None, says: str
) -> None:
    id = asleep_and_paused(place)
    take(place)
    place.eventually(lambda: place.rows(FORGOTTEN))
    assert (place.snooze_of(MESSAGE).inactive, place.snooze_of(MESSAGE).outcome) == (True, None)
    assert says in history(place, id)
    with a_worker(place, tmp_path) as sink:
        with place.engine.begin() as connection:
            assert done(connection, id, Resume(), email=place.person.email)
        place.make_due(id=id)
        place.eventually(lambda: len(sink.accepted()) == 1)
    assert place.program.count(place.snoozed) == 0
    assert folder is None or place.program.count(folder) == 1, "it is where its owner put it"
