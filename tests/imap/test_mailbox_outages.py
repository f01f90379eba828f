"""A mail server that is away, refuses the password, loses the line or counts anew: nothing is lost, moved twice, or
called asleep when it is overdue."""

import json
import os
import signal
import time

import pytest
from sqlalchemy import text

from snoozer.mailboxes import registry
from tests.factories import an_original
from tests.forked import run_forked
from tests.imap.dovecot import PASSWORD
from tests.imap.mailboxes import MailServer
from tests.imap.proxy import Proxy
from tests.imap.watched import ROOT, Place, returned

pytestmark = pytest.mark.dovecot

RETURNING = "SELECT 1 FROM messages WHERE returns_at IS NOT NULL"
OF_A_PROCESS = (
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'snoozer-mailbox'"
)
WAITING = f"{OF_A_PROCESS} AND wait_event_type = 'Lock'"
FROZEN = f"{OF_A_PROCESS} AND state = 'idle in transaction'"
# Half of what the database gives to the sessions of other processes.
FREE_SECONDS = 30.0


@pytest.fixture
def place(place: Place) -> Place:
    place.program.deliver(an_original(message_id="<a@mail.example>"))
    return place


def put_to_sleep(place: Place) -> None:
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)


def doctor(place: Place) -> dict[str, list[str]]:
    """The doctor's verdicts, by check."""
    found = run_forked(
        "doctor",
        "--json",
        env={
            **{name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ},
            "DATABASE_URL": place.settings.database_url.get_secret_value(),
        },
        cwd=ROOT,
    )
    verdicts: dict[str, list[str]] = {}
    for each in json.loads(found.stdout)["checks"]:
        verdicts.setdefault(each["check"], []).append(each["verdict"])
    return verdicts


def test_what_is_due_while_the_server_is_away_comes_back_with_it(place: Place, dovecot_server: MailServer) -> None:
    place.start()
    put_to_sleep(place)
    assert doctor(place)["mailboxes"] == ["right"]
    place.lead_to(9)
    place.make_due()
    place.eventually(lambda: place.problem() == "unreachable")
    place.run(
        "UPDATE messages SET returns_at = returns_at - INTERVAL '1 hour'; "
        "UPDATE mailboxes SET problem_since = problem_since - INTERVAL '1 hour'"
    )
    assert doctor(place)["mailboxes"] == ["wrong", "advice"]
    place.lead_to(dovecot_server.port)
    place.eventually(lambda: place.program.count("INBOX") == 1)
    place.eventually(lambda: place.problem() is None and not place.rows(RETURNING))
    assert place.program.count("Snoozed") == 0


def test_a_mailbox_that_no_process_watches_is_found_wrong(place: Place) -> None:
    assert doctor(place)["mailboxes"] == ["wrong"]


def test_a_changed_password_pauses_the_mailbox_asks_for_it_once_and_loses_nothing(place: Place) -> None:
    place.start(retry_sign_in=0.1)
    put_to_sleep(place)
    change_password(place, "not the one any more")
    place.make_due()
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE state = 'paused'"))
    assert place.problem() == "login"
    asked = "SELECT subject FROM email_snoozes WHERE message_id LIKE '%@password.snoozer.invalid>'"
    assert len(place.rows(asked)) == 1
    assert place.program.count("Snoozed") == 1
    change_password(place, PASSWORD)
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert place.rows("SELECT state, problem FROM mailboxes") == [("active", None)]
    assert len(place.rows(asked)) == 1


def change_password(place: Place, password: str) -> None:
    with place.engine.begin() as connection:
        assert registry.change_password(
            connection,
            id=place.mailbox_id,
            account_id=place.person.id,
            password=password,
            key_ring=place.settings.keys,
        )


@pytest.mark.parametrize("at", ["command", "reply"])
@pytest.mark.parametrize("moment", ["snoozing", "returning"])
def test_a_line_that_is_cut_in_a_move_leaves_one_copy(
    place: Place, dovecot_server: MailServer, at: str, moment: str
) -> None:
    """Before the server has the command, or after it did it."""
    place.start()
    if moment == "returning":
        put_to_sleep(place)
    before = place.program.messages("Snoozed" if moment == "returning" else "INBOX")
    cuts = iter([True])

    def on_reply(line: bytes) -> bytes | None:
        is_step = b"COPYUID" in line if at == "reply" else b"[UIDNEXT" in line
        return None if is_step and next(cuts, False) else line

    with Proxy(dovecot_server.port, on_reply=on_reply) as proxy:
        place.lead_to(proxy.port)
        if moment == "snoozing":
            put_to_sleep(place)
            assert place.program.messages("Snoozed") == before
        else:
            place.make_due()
            place.eventually(lambda: place.program.count("INBOX") == 1 and not place.rows(RETURNING))
            assert place.program.messages("INBOX") == returned(before)
            assert place.program.count("Snoozed") == 0
    assert next(cuts, None) is None


def test_a_folder_that_counts_anew_is_matched_by_what_lies_in_it(place: Place) -> None:
    place.start()
    put_to_sleep(place)
    place.stop()
    place.program.rename("Snoozed", "Before")
    place.program.create("Snoozed")
    place.program.move("Before", "Snoozed")
    place.start()
    place.eventually(lambda: place.asleep() == 1)
    place.make_due()
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert place.program.count("Snoozed") == 0


def test_a_folder_of_ours_that_is_renamed_ends_no_snooze(place: Place) -> None:
    place.start()
    put_to_sleep(place)
    place.program.rename("Snoozed", "Another name")
    place.eventually(lambda: place.program.count("Snoozed") == 1)
    place.eventually(lambda: place.asleep() == 1)
    assert not place.snooze_of("<a@mail.example>").inactive


def test_a_process_that_freezes_within_a_transaction_keeps_its_mailboxes_for_seconds(place: Place) -> None:
    """Its session has locked them, as if its host were cut off then: the database ends the session."""
    process = place.process()
    with place.engine.connect() as other, other.begin():
        place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
        other.execute(text("SELECT 1 FROM mailboxes FOR UPDATE"))
        place.eventually(lambda: place.rows(WAITING))
        process.send_signal(signal.SIGSTOP)
    place.eventually(lambda: place.rows(FROZEN))
    began = time.monotonic()
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
    place.eventually(lambda: place.asleep() == 1)
    assert time.monotonic() < began + FREE_SECONDS
