"""A message that a mail program snoozes comes back in the folder from which it was moved, if only that one lost any."""

import pytest

from snoozer.mailboxes.imap.folders import Status
from snoozer.mailboxes.sync import flagging, sync
from snoozer.mailboxes.sync.origins import origin
from snoozer.mailboxes.sync.session import Session
from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.watched import Place

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
on_one = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)
SYNCED = "SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"


def homes(place: Place) -> list[str]:
    return [home for (home,) in place.rows("SELECT home FROM messages WHERE NOT is_kept ORDER BY id")]


@on_both
def test_a_message_comes_back_in_the_folder_from_which_it_was_moved(place: Place) -> None:
    projects = place.folder("Projects")
    place.program.create(projects)
    for number in range(3):
        place.program.deliver(an_original(message_id=f"<{number}@mail.example>"), folder=projects)
    place.program.deliver(an_original())
    place.start()
    place.eventually(lambda: place.rows(SYNCED))
    place.program.move(projects, place.folder("Snooze", "Tomorrow"), uids="2")
    place.eventually(lambda: place.asleep() == 1)
    assert place.program.count(projects) == 2
    place.make_due()
    place.eventually(lambda: place.program.count(projects) == 3)
    assert place.program.count("INBOX") == 1


@on_one
def test_a_folder_that_was_made_a_moment_before_is_known_too(place: Place) -> None:
    place.start()
    place.eventually(lambda: place.rows(SYNCED))
    projects = place.folder("Projects")
    place.program.create(projects)
    place.program.create(place.folder("Snooze", "in 3 days"))
    place.program.deliver(an_original(), folder=projects)
    place.program.move(projects, place.folder("Snooze", "in 3 days"))
    place.eventually(lambda: place.asleep() == 1)
    assert homes(place) == [projects]


@on_one
def test_a_message_moved_during_a_look_comes_back_in_its_folder_too(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It moves after the look has read the folder that means a time, so the next look notices it."""
    projects, tomorrow = place.folder("Projects"), place.folder("Snooze", "Tomorrow")
    place.program.create(projects)
    place.program.deliver(an_original(message_id="<one@mail.example>"))
    place.program.deliver(an_original(message_id="<two@mail.example>"), folder=projects)
    really_look, moved = flagging.notice_flagged, list[str]()

    def look_at_flags(session: Session) -> bool:
        if not moved and place.rows("SELECT 1 FROM email_snoozes"):
            moved.append("two")
            place.program.move(projects, tomorrow)
        return really_look(session)

    monkeypatch.setattr(sync, "notice_flagged", look_at_flags)
    place.start()
    place.eventually(lambda: place.rows(SYNCED))
    place.program.move("INBOX", tomorrow)
    place.eventually(lambda: place.asleep() == 2)
    assert homes(place) == ["INBOX", projects]


@on_one
def test_a_message_moved_while_no_watcher_ran_returns_to_the_inbox(place: Place) -> None:
    projects = place.folder("Projects")
    place.program.create(projects)
    place.program.deliver(an_original(), folder=projects)
    place.start()
    place.eventually(lambda: place.rows(SYNCED))
    place.stop()
    place.program.move(projects, place.folder("Snooze", "Tomorrow"))
    place.start()
    place.eventually(lambda: place.asleep() == 1)
    assert homes(place) == ["INBOX"]


def test_only_one_folder_that_lost_messages_is_an_origin() -> None:
    before = {"INBOX": Status(1, 10, 5), "Projects": Status(2, 8, 7), "Old": Status(3, 4, 0)}

    def found(**now: Status) -> str:
        return origin(before, before | now)

    assert found(Projects=Status(2, 8, 6)) == "Projects"
    assert found(Projects=Status(2, 9, 7)) == "Projects", "one came and one left"
    assert found(Projects=Status(2, 9, 8)) == "INBOX", "one came"
    assert found(New=Status(4, 2, 0)) == "New", "one came and left"
    assert found(Renamed=Status(2, 8, 6)) == "INBOX"
    assert found(Projects=Status(9, 8, 6)) == "INBOX", "numbered anew"
    assert found(Projects=Status(2, 8, 6), INBOX=Status(1, 10, 4)) == "INBOX"
    assert origin(None, before) == origin(before, None) == "INBOX"
