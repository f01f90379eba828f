"""`snoozer mailbox` is killed at each step of a move: the message is in exactly one folder at the end, unchanged."""

import os
import signal
import subprocess
from collections.abc import Iterator
from itertools import count

import pytest
from sqlalchemy import Engine

from snoozer.mailboxes import registry
from snoozer.runtime.failpoint import MOVE_STEPS
from snoozer.settings import Settings
from tests.conftest import missing
from tests.factories import People, an_original
from tests.imap import dovecot
from tests.imap.dovecot import Dovecot
from tests.imap.watched import Place, watched

pytestmark = pytest.mark.dovecot

# What a server of twenty years ago announces.
WITHOUT_MOVE = "IMAP4rev1 UIDPLUS IDLE"
KILLED = -signal.SIGKILL
OF_COPY = {"imap_copied", "imap_flagged"}
STORM = os.environ.get("SNOOZER_STORM")
ROUNDS = range(10 if STORM else 1)
WAYS = [(way, step) for way in ("MOVE", "COPY") for step in MOVE_STEPS if way == "COPY" or step not in OF_COPY]
# Snoozing and giving back share their steps, so a sample is enough outside a storm.
GIVING_BACK = WAYS if STORM else [("MOVE", "noticed"), ("COPY", "imap_flagged")]
LEAVING = [way for way in WAYS if way[1] != "noticed"] if STORM else [("COPY", "imap_copied")]
FROZEN = LEAVING if STORM else [("COPY", "intended")]

_users = count(1)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Dovecot]:
    if not dovecot.is_installed():
        missing("Dovecot")
    with dovecot.running(capabilities=WITHOUT_MOVE if request.param == "COPY" else "") as server:
        yield server


@pytest.fixture
def place(engine: Engine, settings: Settings, people: People, server: Dovecot) -> Iterator[Place]:
    with watched(engine, settings, people.ann(), port=server.imap_port, username=f"killed{next(_users)}") as place:
        yield place


@pytest.mark.parametrize(("server", "step"), WAYS, indirect=["server"])
@pytest.mark.parametrize("round", ROUNDS)
def test_killed_while_it_snoozes(place: Place, step: str, round: int) -> None:
    place.program.deliver(an_original(message_id="<a@mail.example>"), flags=r"(\Seen)")
    before = place.program.messages("INBOX")
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    assert place.process(failpoint=f"{step}:kill").wait(60) == KILLED
    place.forget_owner()
    place.start()
    place.eventually(lambda: place.asleep() == 1)
    assert place.program.messages(place.snoozed) == before
    assert [place.program.count(name) for name in ("INBOX", place.folder("Snooze", "Tomorrow"))] == [0, 0]
    assert place.rows("SELECT count(*) FROM email_snoozes") == [(1,)]


@pytest.mark.parametrize(("server", "step"), WAYS, indirect=["server"])
@pytest.mark.parametrize("round", ROUNDS)
def test_killed_while_it_puts_the_message_of_a_row_away(place: Place, step: str, round: int) -> None:
    place.program.deliver(an_original(message_id="<a@mail.example>"), flags=r"(\Seen)")
    before = place.program.messages("INBOX")
    place.run(
        "INSERT INTO email_snoozes (user_email, message_id, remind_at) "  # noqa: S608
        f"VALUES ('{place.person.email}', '<a@mail.example>', now() + INTERVAL '1 day')"
    )
    assert place.process(failpoint=f"{step}:kill").wait(60) == KILLED
    place.forget_owner()
    place.start()
    place.eventually(lambda: place.asleep() == 1)
    assert place.program.messages(place.snoozed) == before
    assert place.program.count("INBOX") == 0
    assert place.rows("SELECT 1 FROM mailbox_searches UNION ALL SELECT 1 FROM snooze_events") == []
    assert place.rows("SELECT count(*) FROM email_snoozes") == [(1,)]


@pytest.mark.parametrize(("server", "step"), GIVING_BACK, indirect=["server"])
@pytest.mark.parametrize("round", ROUNDS)
def test_killed_while_it_gives_back_from_a_folder_whose_name_is_no_time(place: Place, step: str, round: int) -> None:
    pigs = place.folder("Snooze", "when pigs fly")
    place.program.create(pigs)
    place.program.deliver(an_original(message_id="<a@mail.example>"), flags=r"(\Seen)")
    before = place.program.messages("INBOX")
    place.program.move("INBOX", pigs)
    assert place.process(failpoint=f"{step}:kill").wait(60) == KILLED
    place.start()
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
    notices = [each for each in place.program.messages("INBOX") if b"when pigs fly" in each[0]]
    assert len(notices) == 1
    assert [each for each in place.program.messages("INBOX") if each not in notices] == before
    assert place.program.count(pigs) == 0
    assert place.rows("SELECT 1 FROM messages UNION ALL SELECT 1 FROM email_snoozes") == []


@pytest.mark.parametrize(("server", "step"), [way for way in WAYS if way[1] != "noticed"], indirect=["server"])
@pytest.mark.parametrize("round", ROUNDS)
def test_killed_while_it_returns(place: Place, step: str, round: int) -> None:
    place.program.deliver(an_original(message_id="<a@mail.example>"), flags=r"(\Seen)")
    [(original, date, _)] = place.program.messages("INBOX")
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    place.stop()
    place.make_due()
    assert place.process(failpoint=f"{step}:kill").wait(60) == KILLED
    place.forget_owner()
    place.start()
    place.eventually(lambda: not place.rows("SELECT 1 FROM messages WHERE returns_at IS NOT NULL"))
    assert place.program.messages("INBOX") == [(original, date, frozenset({"$new"}))]
    assert place.program.count(place.snoozed) == 0
    assert place.rows("SELECT count(*) FROM reminder_sends WHERE channel = 'mailbox'") == [(1,)]


@pytest.mark.parametrize(("server", "step"), LEAVING, indirect=["server"])
@pytest.mark.parametrize("round", ROUNDS)
def test_killed_while_it_leaves(place: Place, step: str, round: int) -> None:
    """Its owner disconnects the mailbox: everything comes back as it was, and then the mailbox is forgotten."""
    place.program.deliver(an_original(message_id="<a@mail.example>"), flags=r"(\Seen)")
    before = place.program.messages("INBOX")
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    place.stop()
    with place.engine.begin() as connection:
        assert registry.disconnect(connection, id=place.mailbox_id, account_id=place.person.id)
    assert place.process(failpoint=f"{step}:kill").wait(60) == KILLED
    place.forget_owner()
    place.start()
    place.eventually(lambda: not place.rows("SELECT 1 FROM mailboxes"))
    assert place.program.messages("INBOX") == before
    assert place.program.count(place.snoozed) == 0


@pytest.mark.parametrize(("server", "step"), FROZEN, indirect=["server"])
@pytest.mark.parametrize("round", ROUNDS)
def test_frozen_while_it_returns_and_awake_after_another_has_taken_over(place: Place, step: str, round: int) -> None:
    """As by a machine that stands still for longer than a lease: what it still does and writes changes nothing."""
    place.program.deliver(an_original(message_id="<a@mail.example>"), flags=r"(\Seen)")
    [(original, date, _)] = place.program.messages("INBOX")
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    place.stop()
    place.make_due()
    frozen = place.process(failpoint=f"{step}:stop")
    place.eventually(lambda: _is_stopped(frozen))
    place.forget_owner()
    place.start()
    place.eventually(lambda: not place.rows("SELECT 1 FROM messages WHERE returns_at IS NOT NULL"))
    truth = place.rows("SELECT place, folder, uid, moving_to, fence FROM messages, mailboxes")
    frozen.send_signal(signal.SIGCONT)
    frozen.terminate()
    assert frozen.wait(60) == 0
    assert place.rows("SELECT place, folder, uid, moving_to, fence FROM messages, mailboxes") == truth
    assert place.program.messages("INBOX") == [(original, date, frozenset({"$new"}))]
    assert place.program.count(place.snoozed) == 0
    assert place.rows("SELECT count(*) FROM reminder_sends WHERE channel = 'mailbox'") == [(1,)]


def _is_stopped(process: "subprocess.Popen[bytes]") -> bool:
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT | os.WNOHANG) is not None


@pytest.mark.parametrize(("server", "step"), WAYS, indirect=["server"])
@pytest.mark.parametrize("round", ROUNDS)
def test_killed_while_it_marks_messages_as_read(place: Place, step: str, round: int) -> None:
    """They are read while asleep, and have the flag that they had before once the snooze is cancelled."""
    place.run("UPDATE mailboxes SET reads_asleep = TRUE")
    for id, given in (("<a@mail.example>", ""), ("<b@mail.example>", r"(\Seen)")):
        place.program.deliver(an_original(message_id=id), flags=given)
    before = place.program.messages("INBOX")
    for id in ("<a@mail.example>", "<b@mail.example>"):
        place.run(
            "INSERT INTO email_snoozes (user_email, message_id, remind_at) "  # noqa: S608
            f"VALUES ('{place.person.email}', '{id}', now() + INTERVAL '1 day')"
        )
    assert place.process(failpoint=f"{step}:kill").wait(60) == KILLED
    place.forget_owner()
    place.start()
    place.eventually(lambda: place.asleep() == 2)
    place.eventually(lambda: [flags for _, _, flags in place.program.messages(place.snoozed)] == [{r"\Seen"}] * 2)
    place.stop()
    place.run("UPDATE email_snoozes SET inactive = TRUE, outcome = 'cancelled', finished_at = now()")
    if step != "noticed":
        assert place.process(failpoint=f"{step}:kill").wait(60) == KILLED
        place.forget_owner()
    place.start()
    place.eventually(lambda: place.program.count("INBOX") == 2)
    place.eventually(lambda: place.program.count(place.snoozed) == 0)
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE was_unread") == [])
    assert sorted(place.program.messages("INBOX")) == sorted(before)


@pytest.mark.parametrize(("server", "step"), [("MOVE", "imap_marked"), ("COPY", "imap_copied")], indirect=["server"])
def test_cancelled_after_it_died_on_the_way_it_is_unread_in_its_place(place: Place, step: str) -> None:
    place.run("UPDATE mailboxes SET reads_asleep = TRUE")
    place.program.deliver(an_original(message_id="<a@mail.example>"))
    before = place.program.messages("INBOX")
    place.run(
        "INSERT INTO email_snoozes (user_email, message_id, remind_at) "  # noqa: S608
        f"VALUES ('{place.person.email}', '<a@mail.example>', now() + INTERVAL '1 day')"
    )
    assert place.process(failpoint=f"{step}:kill").wait(60) == KILLED
    assert [flags for _, _, flags in place.program.messages("INBOX")] == [{r"\Seen"}]
    place.run("UPDATE email_snoozes SET inactive = TRUE, outcome = 'cancelled', finished_at = now()")
    place.forget_owner()
    place.start()
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE was_unread OR moving_to IS NOT NULL") == [])
    place.eventually(lambda: place.program.count(place.snoozed) == 0)
    assert place.program.messages("INBOX") == before
