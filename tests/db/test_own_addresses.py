"""Mail from and to each verified address of a person is theirs, and they choose where their mail goes."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from snoozer.db.addresses import Address
from snoozer.mail import compose
from snoozer.people import addresses
from snoozer.queue.reminder import Send
from snoozer.settings import Settings
from tests.db.transitions import claim, sendable
from tests.factories import ANN, HOUR, People, a_kept_message, a_snooze, an_original, now
from tests.mail.reports import REPORTS
from tests.mail_doors import AUTHSERV_ID, DOMAIN, MailDoors, a_mail, mail_doors
from tests.web.reminders import a_sent_reminder

HOME = "ann@home.example"
KEPT = ["250 2.0.0 Kept"]
GONE = REPORTS["Postfix, no such user"].mail


@pytest.fixture
def doors(engine: Engine, settings: Settings, people: People) -> Iterator[MailDoors]:
    ann = people.ann(zone="UTC")
    with engine.begin() as connection:
        assert addresses.vouch(connection, account_id=ann.id, email=HOME)
    with mail_doors(engine, settings) as doors:
        yield doors


def choose(doors: MailDoors, email: str) -> None:
    with doors.engine.begin() as connection:
        [id] = connection.execute(text("SELECT id FROM accounts")).scalars()
        assert addresses.choose(connection, account_id=id, email=email)


def next_reminder(engine: Engine) -> Send:
    [claimed] = claim(engine)
    [send] = sendable(engine, claimed)
    return send


def marked(doors: MailDoors) -> list[str]:
    return [row.value for row in doors.rows("SELECT value FROM pauses WHERE ended_at IS NULL ORDER BY value")]


@pytest.mark.parametrize("to", [HOME, HOME.upper()])
def test_mail_to_any_of_them_is_kept_once(doors: MailDoors, to: str) -> None:
    original = an_original()
    for _ in range(2):
        assert doors.deliver(original, to, ANN) == KEPT * 2
    assert [row.user_email for row in doors.rows("SELECT user_email FROM messages")] == [ANN]


def test_mail_from_any_of_them_acts_with_the_same_proof(doors: MailDoors) -> None:
    proof = f"Authentication-Results: {AUTHSERV_ID}; dmarc=pass header.from=home.example"
    assert doors.deliver(a_mail("x", sender=HOME), f"3d@{DOMAIN}")[0].startswith("550 5.7.1")
    assert doors.deliver(a_mail("x", sender=HOME, fields=[proof]), f"3d@{DOMAIN}") == KEPT
    assert [row.user_email for row in doors.rows("SELECT user_email FROM email_snoozes")] == [ANN]
    choose(doors, HOME)
    [answer] = doors.answers()
    assert answer["To"] == HOME


def test_what_a_person_writes_from_another_address_is_no_reply(doors: MailDoors) -> None:
    a_kept_message(doors.engine, message_id="<asked@mail.example>")
    a_snooze(doors.engine, message_id="<asked@mail.example>", remind_at=now() + HOUR, reply_policy="cancel_on_reply")
    for sender, outcome in ((HOME, None), ("ben@mail.example", "cancelled")):
        mail = a_mail("x", sender=sender, fields=["In-Reply-To: <asked@mail.example>"])
        assert doors.deliver(mail.replace(b"<sent@", f"<{sender[:3]}@".encode()), ANN) == KEPT
        assert [row.outcome for row in doors.rows("SELECT outcome FROM email_snoozes")] == [outcome]


def test_a_reminder_goes_to_the_chosen_address(doors: MailDoors) -> None:
    a_snooze(doors.engine)
    choose(doors, HOME)
    assert compose.address_of(next_reminder(doors.engine)) == HOME


def test_a_reminder_goes_to_the_address_of_the_account_again_once_the_chosen_one_is_removed(doors: MailDoors) -> None:
    a_snooze(doors.engine)
    choose(doors, HOME)
    with doors.engine.begin() as connection:
        [id] = connection.execute(text("SELECT id FROM accounts")).scalars()
        assert addresses.remove(connection, account_id=id, email=HOME)
    assert compose.address_of(next_reminder(doors.engine)) == ANN
    assert doors.deliver(an_original(), HOME)[0].startswith("550 5.1.1")


@pytest.mark.parametrize(("chosen", "other"), [(HOME, ANN), (ANN, HOME)])
def test_an_address_that_takes_no_mail_is_replaced_by_another(doors: MailDoors, chosen: str, other: str) -> None:
    choose(doors, chosen)
    id = a_sent_reminder(doors.engine)
    recipient = None if chosen == ANN else chosen
    with doors.engine.begin() as connection:
        connection.execute(text("UPDATE reminder_sends SET recipient = :to"), {"to": recipient})
    assert doors.report(GONE, id) == KEPT
    assert marked(doors) == [chosen]
    a_snooze(doors.engine)
    assert compose.address_of(next_reminder(doors.engine)) == other
    [shown] = [own for own in listed(doors) if own.gets_mail]
    assert (shown.email, shown.invalid_since) == (other, None)


def test_without_an_address_that_takes_mail_none_is_sent(doors: MailDoors) -> None:
    for recipient in (None, HOME):
        id = a_sent_reminder(doors.engine)
        with doors.engine.begin() as connection:
            values = {"to": recipient, "id": id}
            connection.execute(text("UPDATE reminder_sends SET recipient = :to WHERE snooze_id = :id"), values)
        assert doors.report(GONE, id) == KEPT
    assert marked(doors) == sorted([ANN, HOME])
    a_snooze(doors.engine)
    [claimed] = claim(doors.engine)
    assert sendable(doors.engine, claimed) == []


def test_deleting_the_account_takes_them_along(doors: MailDoors) -> None:
    with doors.engine.begin() as connection:
        connection.execute(text("DELETE FROM accounts"))
    assert doors.rows("SELECT email FROM account_addresses") == []


def listed(doors: MailDoors) -> list[Address]:
    with doors.engine.connect() as connection:
        [id] = connection.execute(text("SELECT id FROM accounts")).scalars()
        return addresses.list_all(connection, account_id=id)
