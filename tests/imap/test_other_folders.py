"""Changes in folders that are not selected are noticed without waiting for a poll: by NOTIFY (RFC 5465), by a look
after each pass, and by a look before a message is due. All looks here come from these, since polls are hours apart."""

from collections.abc import Callable
from pathlib import Path

import pytest

from snoozer.mailboxes.sync import flagging, sync
from snoozer.mailboxes.sync.session import Session
from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.watched import Place, a_worker

SYNCED = "SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
on_one = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)


@pytest.fixture
def place(place: Place) -> Place:
    place.settings = place.settings.model_copy(update={"mailbox_poll": 7200.0})
    return place


def deliver(place: Place, name: str, *, folder: str = "INBOX") -> str:
    message_id = f"<{name}@mail.example>"
    place.program.deliver(an_original(subject=name, message_id=message_id), folder=folder)
    return message_id


def watched(place: Place) -> None:
    place.start()
    place.eventually(lambda: place.rows(SYNCED))


def put_to_sleep(place: Place, name: str) -> None:
    deliver(place, name)
    watched(place)
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)


def put_by_append(place: Place) -> None:
    deliver(place, "appended", folder=place.folder("Snooze", "Tomorrow"))


def put_from_the_archive(place: Place) -> None:
    deliver(place, "archived", folder=place.folder("Archive"))
    place.program.move(place.folder("Archive"), place.folder("Snooze", "Tomorrow"))


def put_into_a_new_folder(place: Place) -> None:
    place.program.create(place.folder("Snooze", "3d"))
    deliver(place, "new", folder=place.folder("Snooze", "3d"))


@on_one
@pytest.mark.parametrize("put", [put_by_append, put_from_the_archive, put_into_a_new_folder])
def test_what_does_not_leave_the_inbox_is_noticed_at_once(place: Place, put: Callable[[Place], None]) -> None:
    watched(place)
    put(place)
    place.eventually(lambda: place.asleep() == 1)


@on_one
def test_a_message_deleted_while_it_is_asleep_is_missed_at_once(place: Place) -> None:
    put_to_sleep(place, "deleted")
    place.program.mark_deleted(place.snoozed)
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE place = 'missing'"))


@on_both
def test_a_message_moved_during_a_pass_is_noticed_by_the_next(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It left the inbox while another folder was selected: IDLE does not report that."""
    deliver(place, "one")
    deliver(place, "two")
    moved: list[str] = []
    really_look = flagging.notice_flagged

    def look_at_flags(session: Session) -> bool:
        """The last step of a look: folders that mean a time were read before."""
        if not moved and place.rows("SELECT 1 FROM email_snoozes"):
            moved.append("two")
            place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        return really_look(session)

    monkeypatch.setattr(sync, "notice_flagged", look_at_flags)
    watched(place)
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"), uids="1")
    place.eventually(lambda: place.asleep() == 2)


@on_both
def test_a_message_deleted_just_before_its_time_is_not_reminded(place: Place, tmp_path: Path) -> None:
    put_to_sleep(place, "deleted")
    with a_worker(place, tmp_path) as sink:
        place.program.mark_deleted(place.snoozed)
        place.run("UPDATE email_snoozes SET remind_at = clock_timestamp() + INTERVAL '4 seconds', scheduled_for = NULL")
        place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE place = 'missing'"))
        # The worker has met the due row, and has put it off.
        place.eventually(lambda: place.rows("SELECT 1 FROM email_snoozes WHERE remind_at > scheduled_for"))
        place.run("UPDATE messages SET missing_since = missing_since - INTERVAL '11 minutes'")
        place.stop()
        place.start()
        place.eventually(lambda: place.rows("SELECT 1 FROM email_snoozes WHERE outcome = 'cancelled'"))
        assert sink.accepted() == []


@on_one
def test_a_missing_message_is_reminded_if_it_is_not_settled_in_time(place: Place, tmp_path: Path) -> None:
    """For example, the process that seeks it does not run."""
    put_to_sleep(place, "missing")
    place.stop()
    place.run("UPDATE messages SET place = 'missing', missing_since = clock_timestamp() - INTERVAL '16 minutes'")
    place.run("UPDATE email_snoozes SET remind_at = clock_timestamp() - INTERVAL '15.1 minutes', scheduled_for = NULL")
    place.run(
        "INSERT INTO server_starts (started_at, met_at) VALUES (pg_postmaster_start_time(), now() - INTERVAL '1 day') "
        "ON CONFLICT (started_at) DO UPDATE SET met_at = EXCLUDED.met_at"
    )
    with a_worker(place, tmp_path) as sink:
        place.eventually(lambda: len(sink.accepted()) == 1)
