"""A program snoozes a message of a connected mailbox by a row alone: it is put away there, and comes back."""

import os
import random
import signal
import ssl
import time
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from snoozer.mailboxes import registry
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.runtime.failpoint import MOVE_STEPS
from snoozer.web import create_app
from tests.conftest import missing
from tests.factories import an_original
from tests.imap import dovecot
from tests.imap.conftest import BOTH
from tests.imap.dovecot import PASSWORD
from tests.imap.mailboxes import MailServer
from tests.imap.watched import MailProgram, Place, returned

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
on_one = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)

ID = "<row@mail.example>"
NUMBER = 1_000 if os.environ.get("SNOOZER_STORM") else 32
STEPS = [step for step in MOVE_STEPS if step not in ("imap_copied", "imap_flagged")]
LATENCY = (
    "SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM its.updated_at - snooze.created_at)) "
    "FROM messages AS its JOIN email_snoozes AS snooze USING (user_email, message_id) WHERE its.place = 'snoozed'"
)
STAYED = "SELECT detail ->> 'why' FROM snooze_events WHERE kind = 'stayed'"


def insert(place: Place, *ids: str) -> None:
    """Insert rows as any program does, each in a transaction of its own."""
    for id in ids:
        place.run(
            "INSERT INTO email_snoozes (user_email, message_id, remind_at) "  # noqa: S608
            f"VALUES ('{place.person.email}', '{id}', now() + INTERVAL '1 day') "
            "ON CONFLICT (user_email, message_id) WHERE NOT inactive DO NOTHING"
        )


def started(place: Place) -> None:
    place.start()
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))


def delivered(place: Place) -> tuple[list[str], list[tuple[bytes, str, frozenset[str]]]]:
    """Messages in the inbox: their ids, and what is seen of them."""
    ids = [f"<{number}@mail.example>" for number in range(NUMBER)]
    for number, id in enumerate(ids):
        place.program.deliver(an_original(message_id=id), flags=(r"(\Flagged)", "($Label1)", "")[number % 3])
    return ids, place.program.shown("INBOX")


def why(place: Place) -> str:
    """Why the one message was not moved."""
    place.eventually(lambda: place.rows(STAYED))
    [(why,)] = place.rows(STAYED)
    assert not place.rows("SELECT 1 FROM messages UNION ALL SELECT 1 FROM mailbox_searches")
    assert not place.snooze_of(ID).inactive
    return str(why)


@pytest.fixture(scope="session")
def all_mail_server(trusting_tls: ssl.SSLContext) -> Iterator[MailServer]:
    """A Dovecot with a folder of all mail, as a provider has it."""
    if not dovecot.is_installed():
        missing("dovecot-imapd")
    with dovecot.running(all_mail="Everything") as running:
        yield MailServer("all mail", running.imap_port, running.imaps_port, trusting_tls)


@pytest.fixture
def api(place: Place) -> FlaskClient:
    client = create_app(engine=place.engine, settings=place.settings).test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {place.person.token}"
    return client


@pytest.fixture
def second(place: Place, mail_server: MailServer) -> Iterator[tuple[int, MailProgram]]:
    """Another mailbox of the same person, and its mail program."""
    username = f"{place.username}-second"
    with place.engine.begin() as connection:
        id = registry.connect(
            connection,
            account_id=place.person.id,
            address="second@mail.example",
            server=Server("127.0.0.1", mail_server.port, "plain"),
            login=Login(username, PASSWORD),
            key_ring=place.settings.keys,
        )
    program = MailProgram(mail_server.port, username)
    yield id, program
    place.stop()
    program.close()


@on_both
def test_a_row_puts_its_message_away_and_brings_it_back(place: Place) -> None:
    place.program.deliver(an_original(message_id="<other@mail.example>"))
    place.program.deliver(an_original(message_id=ID), flags=r"(\Seen \Flagged)")
    other, (original, date, flags) = place.program.messages("INBOX")
    started(place)
    insert(place, ID)
    place.eventually(lambda: place.asleep() == 1)
    assert place.program.messages("INBOX") == [other]
    assert place.program.messages(place.snoozed) == [(original, date, flags)]
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 2)
    assert place.program.messages("INBOX") == [other, *returned([(original, date, flags)])]
    assert place.rows("SELECT count(*) FROM email_snoozes") == [(1,)]
    assert place.rows(STAYED) == []


@on_both
def test_a_request_puts_its_message_away(place: Place, api: FlaskClient) -> None:
    place.program.deliver(an_original(message_id=ID))
    started(place)
    answer = api.post("/api/v1/snoozes", json={"message_id": ID, "when": "in 2 days"})
    assert answer.status_code == 201
    place.eventually(lambda: place.asleep() == 1)
    undone = api.delete(f"/api/v1/snoozes/{answer.get_json()['id']}")
    assert undone.status_code == 200
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert place.program.count(place.snoozed) == 0


@on_both
def test_a_row_without_a_subject_gets_that_of_its_message(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    lease, given = "<lease@mail.example>", "<given@mail.example>"
    for id, subject in ((lease, "=?utf-8?Q?Miete_f=C3=BCr_Mai?="), (given, "Theirs")):
        place.program.deliver(an_original(message_id=id, subject=subject, sender="Eve <eve@mail.example>"))
    insert(place, given)
    place.run("UPDATE email_snoozes SET subject = 'Ours'")
    insert(place, lease)
    promises = place.rows("SELECT id, remind_at, scheduled_for FROM email_snoozes ORDER BY id")
    started(place)
    place.eventually(lambda: place.asleep() == 2)
    named = "SELECT message_id, subject, sender_email FROM email_snoozes WHERE NOT inactive ORDER BY id"
    eve = "eve@mail.example"
    assert place.rows(named) == [(given, "Ours", eve), (lease, "Miete für Mai", eve)]
    assert place.rows("SELECT id, remind_at, scheduled_for FROM email_snoozes ORDER BY id") == promises
    place.make_due()
    place.eventually(lambda: not place.rows("SELECT 1 FROM messages WHERE returns_at IS NOT NULL"))
    place.run("UPDATE email_snoozes SET inactive = TRUE, outcome = 'sent', finished_at = now()")
    insert(place, lease)
    place.eventually(lambda: place.asleep() == 1)
    assert place.rows(named) == [(lease, "Miete für Mai", eve)], "known from the snooze before"
    assert "Miete" not in caplog.text


@on_both
def test_a_filed_message_returns_to_its_folder(place: Place) -> None:
    projects = place.folder("Projects")
    place.program.create(projects)
    place.program.deliver(an_original(message_id=ID), folder=projects)
    before = place.program.messages(projects)
    started(place)
    insert(place, ID)
    place.eventually(lambda: place.asleep() == 1)
    assert place.program.messages(place.snoozed) == before
    place.make_due()
    place.eventually(lambda: place.program.messages(projects) == returned(before))


@pytest.mark.parametrize("mail_server", [pytest.param("all_mail", marks=pytest.mark.dovecot)], indirect=True)
def test_a_message_only_in_the_folder_of_all_mail_returns_to_the_inbox(place: Place) -> None:
    for id in (ID, "<other@mail.example>"):
        place.program.deliver(an_original(message_id=id), folder="Everything")
    started(place)
    insert(place, ID, "<nowhere@mail.example>")
    place.eventually(lambda: place.asleep() == 1 and place.rows(STAYED))
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert place.rows(STAYED) == [("absent",)]


@on_both
def test_a_message_that_is_not_found_has_a_reminder_alone(place: Place, api: FlaskClient) -> None:
    place.program.create(place.folder("Projects"))
    place.program.deliver(an_original(message_id="<other@mail.example>"), folder=place.folder("Projects"))
    started(place)
    insert(place, ID)
    assert why(place) == "absent"
    id = place.snooze_of(ID).id
    [line] = api.get(f"/api/v1/snoozes/{id}/events").get_json()["events"]
    assert (line["kind"], line["by"]) == ("stayed", "mailbox")
    api.set_cookie("snoozer_session", place.person.session)
    assert "Its message was not found in your mailbox, so only its reminder comes." in api.get(f"/snoozes/{id}").text


@on_both
def test_of_two_copies_none_is_moved(place: Place) -> None:
    for _ in range(2):
        place.program.deliver(an_original(message_id=ID))
    before = place.program.messages("INBOX")
    started(place)
    insert(place, ID)
    assert why(place) == "copies"
    assert place.program.messages("INBOX") == before


@on_both
@pytest.mark.parametrize("named", [False, True])
def test_a_message_in_two_mailboxes_is_moved_in_the_named_one_alone(
    place: Place, api: FlaskClient, second: tuple[int, MailProgram], named: bool
) -> None:
    second_id, program = second
    for each in (place.program, program):
        each.deliver(an_original(message_id=ID))
    started(place)
    body: dict[str, Any] = {"message_id": ID, "when": "in 2 days"} | ({"mailbox": second_id} if named else {})
    assert api.post("/api/v1/snoozes", json=body).status_code == 201
    if named:
        place.eventually(lambda: place.asleep() == 1)
        assert [each.count("INBOX") for each in (place.program, program)] == [1, 0]
    else:
        assert why(place) == "mailboxes"
        assert [each.count("INBOX") for each in (place.program, program)] == [1, 1]


@on_both
def test_a_message_in_one_of_two_mailboxes_is_moved_there(place: Place, second: tuple[int, MailProgram]) -> None:
    second_id, program = second
    program.deliver(an_original(message_id=ID))
    started(place)
    insert(place, ID)
    place.eventually(lambda: place.asleep() == 1)
    assert program.count("INBOX") == 0
    assert place.rows("SELECT mailbox_id FROM messages") == [(second_id,)]


@on_one
def test_a_mailbox_that_cannot_be_reached_is_not_waited_for(place: Place, second: tuple[int, MailProgram]) -> None:
    second_id, _ = second
    place.run(f"UPDATE mailboxes SET port = 1 WHERE id = {second_id}")  # noqa: S608
    place.program.deliver(an_original(message_id=ID))
    place.start()
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE problem IS NOT NULL"))
    insert(place, ID)
    place.eventually(lambda: place.asleep() == 1)


@on_one
def test_another_persons_mailbox_is_refused(place: Place, api: FlaskClient) -> None:
    place.run(
        "INSERT INTO accounts (email, zone, locale) VALUES ('bob@snoozer.example', 'UTC', 'en_GB'); "
        "UPDATE mailboxes SET account_id = (SELECT id FROM accounts WHERE email = 'bob@snoozer.example')"
    )
    body = {"message_id": ID, "when": "in 2 days", "mailbox": place.mailbox_id}
    answer = api.post("/api/v1/snoozes", json=body)
    assert answer.status_code == 422
    [error] = answer.get_json()["errors"]
    assert error == {"field": "mailbox", "detail": f"You have no mailbox {place.mailbox_id}."}
    assert place.rows("SELECT 1 FROM email_snoozes") == []


@on_one
def test_a_snooze_cancelled_before_the_move_moves_nothing_until_that_is_undone(place: Place, api: FlaskClient) -> None:
    place.program.deliver(an_original(message_id=ID))
    insert(place, ID)
    path = f"/api/v1/snoozes/{place.snooze_of(ID).id}"
    assert api.delete(path).status_code == 200
    started(place)
    insert(place, "<absent@mail.example>")
    place.eventually(lambda: place.rows(STAYED))
    assert place.program.count("INBOX") == 1
    assert api.post(f"{path}/undo").status_code == 200
    place.eventually(lambda: place.asleep() == 1)


@on_one
def test_a_message_that_came_back_is_put_away_again_by_a_row(place: Place) -> None:
    place.program.deliver(an_original(message_id=ID))
    started(place)
    insert(place, ID)
    place.eventually(lambda: place.asleep() == 1)
    place.make_due()
    place.eventually(lambda: place.rows("SELECT 1 FROM messages WHERE place = 'home' AND returns_at IS NULL"))
    place.run("UPDATE email_snoozes SET inactive = TRUE, outcome = 'sent', finished_at = now()")
    insert(place, ID)
    place.eventually(lambda: place.asleep() == 1)
    assert place.program.count("INBOX") == 0


@on_one
def test_nothing_is_put_away_for_a_closed_account(place: Place) -> None:
    place.program.deliver(an_original(message_id=ID))
    insert(place, ID)
    place.run("UPDATE accounts SET disabled_at = now()")
    place.start()
    place.eventually(lambda: not place.rows("SELECT 1 FROM mailbox_searches"))
    assert place.rows("SELECT 1 FROM messages UNION ALL SELECT 1 FROM snooze_events") == []
    assert place.program.count("INBOX") == 1


@on_one
def test_ids_that_no_message_has_and_people_without_mailboxes_are_not_searched_for(
    place: Place, api: FlaskClient
) -> None:
    insert(place, "invoice-17", "<1@added.snoozer.invalid>")
    assert api.post("/api/v1/snoozes", json={"subject": "Lease", "when": "in 2 days"}).status_code == 201
    place.run(
        "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
        "VALUES ('bob@snoozer.example', '<1@mail.example>', now() + INTERVAL '1 day')"
    )
    assert place.rows("SELECT 1 FROM mailbox_searches") == []


@on_both
def test_rows_and_two_programs_that_move_the_same_messages_lose_and_double_nothing(
    place: Place, mail_server: MailServer, api: FlaskClient
) -> None:
    """The process is killed at each step while they do."""
    ids, before = delivered(place)
    archive, next_week, dice = place.folder("Archive"), place.folder("Snooze", "Next week"), random.Random(39)
    others = [MailProgram(mail_server.port, place.username) for _ in range(2)]
    for step, start in enumerate(range(0, NUMBER, NUMBER // len(STEPS))):
        some = ids[start : start + NUMBER // len(STEPS)]
        insert(place, *some[::2])
        items = [{"message_id": id, "when": "in 2 days"} for id in some[1::2]]
        assert api.post("/api/v1/snoozes/bulk", json={"act": "create", "snoozes": items}).status_code == 200
        killed = place.process(failpoint=f"{STEPS[step % len(STEPS)]}:kill")
        while killed.poll() is None:
            for other, target in zip(others, (archive, next_week), strict=True):
                other.try_to_move("INBOX", target, uids=dice.sample(sorted(other.uids("INBOX")) or [1], 1))
            time.sleep(0.2)
        assert killed.wait() == -signal.SIGKILL
        place.forget_owner()
    for other in others:
        other.close()
    place.start()
    place.eventually(
        lambda: (
            not place.rows("SELECT 1 FROM mailbox_searches")
            and not place.rows("SELECT 1 FROM messages WHERE moving_to IS NOT NULL OR wanted <> place")
            and not place.program.uids(next_week)
            and place.asleep() == len(place.program.uids(place.snoozed))
        )
    )
    found = [message for folder in ("INBOX", archive, place.snoozed) for message in place.program.shown(folder)]
    assert sorted(found) == before
    place.make_due()
    place.eventually(lambda: not place.program.uids(place.snoozed))
    back = [message for folder in ("INBOX", archive) for message in place.program.shown(folder)]
    assert sorted((original, date, flags - {"$new"}) for original, date, flags in back) == before


@on_both
def test_a_message_is_moved_within_two_seconds(place: Place) -> None:
    """At a hundred rows a second."""
    ids, before = delivered(place)
    started(place)
    for id in ids:
        insert(place, id)
        time.sleep(0.01)
    place.eventually(lambda: place.asleep() == NUMBER)
    assert place.program.shown(place.snoozed) == before
    [(seconds,)] = place.rows(LATENCY)
    print(f"{NUMBER} rows, p95 of commit to moved: {seconds:.2f} s")
    assert seconds <= 2.0
