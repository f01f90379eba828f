"""A person answers a reminder by mail: the answer acts once, on that occurrence alone, and is answered by one mail."""

from base64 import b32decode, urlsafe_b64encode
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from snoozer.delivery.chores.returns import side_work
from snoozer.mail import links
from snoozer.mail.links import InvalidLink
from snoozer.settings import Settings
from snoozer.timephrase.parse import parse
from tests.db.act_doors import NEXT, PHRASE, TIME
from tests.factories import ANN, HOUR, People, a_snooze, now, the_row
from tests.mail.answering_programs import LINES, PROGRAMS, an_answer, marked
from tests.mail.answers import MACHINES
from tests.mail_doors import DOMAIN, MailDoors, a_mail, mail_doors, text_of
from tests.web.reminders import a_sent_reminder


@pytest.fixture
def doors(engine: Engine, settings: Settings, people: People) -> Iterator[MailDoors]:
    people.ann(zone="Europe/Berlin")
    with mail_doors(engine, settings) as doors:
        yield doors


def test_an_answer_snoozes_again_and_one_mail_says_until_when(doors: MailDoors) -> None:
    id = a_sent_reminder(doors.engine)
    mail = an_answer(PROGRAMS["gmail"], "3d")
    address = doors.answer_address(id)
    assert len(address.partition("@")[0]) <= 64
    for to in (address, address.upper(), address):
        assert doors.deliver(mail, to) == ["250 2.0.0 Kept"]
    [made] = doors.rows("SELECT * FROM email_snoozes WHERE NOT inactive")
    assert made.remind_at - now() > timedelta(days=2, hours=20)
    assert doors.events() == [("again", "answer")]
    assert doors.rows("SELECT id FROM messages") == []
    with doors.engine.connect() as connection:
        assert side_work(connection).due == {"answer"}
    [answer] = doors.answers()
    with doors.engine.connect() as connection:
        assert side_work(connection).due == frozenset()
    assert (answer["To"], answer["Auto-Submitted"]) == (ANN, "auto-replied")
    assert answer["X-Snoozer-Instance"]
    assert answer["In-Reply-To"].startswith("<")
    content = text_of(answer)
    assert "Snoozed: " in content
    assert "https://snoozer.example/r/" in content
    assert "Quarterly figures" in content
    assert doors.answers() == []
    assert doors.deliver(bytes(answer), answer["Reply-To"]) == ["250 2.0.0 Kept"], "its own answer does nothing"
    assert doors.deliver(a_mail("5d"), answer["Reply-To"]) == ["250 2.0.0 Kept"]
    assert the_row(doors.engine, made.id).remind_at - now() > timedelta(days=4, hours=20), "it corrects the first"
    assert doors.deliver(a_mail("rückgängig"), address) == ["250 2.0.0 Kept"]
    assert the_row(doors.engine, made.id).outcome == "cancelled"
    assert ["Snoozed: " in text_of(one) for one in doors.answers()] == [True, False]


def test_the_answer_is_in_the_language_of_its_reader(doors: MailDoors) -> None:
    with doors.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE accounts SET locale = 'de_DE'")
    id = a_sent_reminder(doors.engine)
    for line in ("bald mal", "tomorrow 8am"):
        doors.deliver(a_mail(line), doors.answer_address(id))
    unread, snoozed = [text_of(answer) for answer in doors.answers()]
    assert "nicht verstanden" in unread
    assert "Verstanden werden: " in unread
    assert "Zurückgestellt: " in snoozed
    assert "Ändern oder rückgängig machen" in snoozed


@pytest.mark.parametrize(
    ("line", "text", "outcome"),
    [
        ("done", "Done.", "sent"),
        ("Erledigt!", "Done.", "sent"),
        ("cancel", "Done.", "sent"),
        ("pause", "nothing to pause", "sent"),
        ("undo", "There is nothing to undo.", "sent"),
    ],
)
def test_words_act_as_the_link_does(doors: MailDoors, line: str, text: str, outcome: str) -> None:
    id = a_sent_reminder(doors.engine)
    assert doors.deliver(a_mail(line), doors.answer_address(id)) == ["250 2.0.0 Kept"]
    assert the_row(doors.engine, id).outcome == outcome
    [answer] = doors.answers()
    assert text in text_of(answer)


@pytest.mark.parametrize("line", LINES)
def test_each_program_s_answer_acts_as_it_was_meant(doors: MailDoors, line: str) -> None:
    for shape in PROGRAMS.values():
        id = a_sent_reminder(doors.engine)
        assert doors.deliver(an_answer(shape, line), doors.answer_address(id)) == ["250 2.0.0 Kept"]
    if line in {"done", "Abbrechen!"}:
        assert doors.events() == [("done", "answer")] * len(PROGRAMS)
        return
    assert doors.events() == [("again", "answer")] * len(PROGRAMS)
    made = doors.rows("SELECT remind_at, recurrence FROM email_snoozes WHERE NOT inactive")
    assert len(made) == len(PROGRAMS)
    meant = parse(line, now=now(), zone="Europe/Berlin", locale="de_DE")
    assert meant.at is not None
    assert all(abs(row.remind_at - meant.at) < timedelta(minutes=5) for row in made)
    assert {row.recurrence is None for row in made} == {meant.recurrence is None}


def test_a_message_that_was_snoozed_again_is_left(doors: MailDoors) -> None:
    id = a_sent_reminder(doors.engine)
    later = a_snooze(doors.engine, message_id=the_row(doors.engine, id).message_id, remind_at=now() + HOUR)
    before = the_row(doors.engine, later)
    for line in ("3d", "done", "cancel", "pause", "undo", "every monday 9"):
        doors.deliver(a_mail(line), doors.answer_address(id))
    assert the_row(doors.engine, later) == before
    assert doors.events() == []
    assert len(doors.answers()) == 6


def test_a_mail_that_is_not_understood_gets_suggestions_five_times_an_hour(doors: MailDoors) -> None:
    addresses = [doors.answer_address(a_sent_reminder(doors.engine)) for _ in range(8)]
    for address in addresses:
        assert doors.deliver(a_mail("Thanks, I will look at it"), address) == ["250 2.0.0 Kept"]
    sent = doors.answers()
    answers = [text_of(answer) for answer in sent]
    assert len(answers) == 5
    assert {answer["Reply-To"] for answer in sent} == set(addresses[:5])
    assert all("not understood" in answer and "tomorrow" in answer for answer in answers)
    assert doors.events() == []


def test_mails_to_one_reminder_that_are_not_understood_are_answered_once_an_hour(doors: MailDoors) -> None:
    """An autoresponder that is not recognised answers the suggestions, too."""
    address = doors.answer_address(a_sent_reminder(doors.engine))
    for number in range(3):
        assert doors.deliver(a_mail(f"We gave your mail the number {number}"), address) == ["250 2.0.0 Kept"]
    assert ["gets no answer" in text_of(answer) for answer in doors.answers()] == [True]
    doors.deliver(a_mail("3d"), address)
    assert ["Snoozed: " in text_of(answer) for answer in doors.answers()] == [True], "what is understood is answered"
    with doors.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE mail_acts SET received_at = received_at - INTERVAL '61 minutes'")
    doors.deliver(a_mail("We have your mail"), address)
    assert len(doors.answers()) == 1


QUOTES = ("> done", "> 3d\n> cancel", f"{marked()}\n", "-- \ndone", "On Friday, Snoozer wrote:\n> done", "", "3")


def test_machines_and_quotes_do_nothing(doors: MailDoors) -> None:
    id = a_sent_reminder(doors.engine)
    address = doors.answer_address(id)
    for fields in MACHINES.values():
        lines = [f"{name}: {value}" for name, value in fields.items()]
        head = [line for line in ("From: Ben <ben@mail.example>",) if "From" not in fields]
        original = "\r\n".join([*lines, *head, "", "done", ""]).encode()
        assert doors.deliver(original, address) == ["250 2.0.0 Kept"]
    assert doors.deliver(a_mail("done"), address, mail_from="") == ["250 2.0.0 Kept"], "a bounce"
    assert doors.answers() == []
    assert doors.rows("SELECT id FROM mail_acts") == []
    for quoted in QUOTES:
        assert doors.deliver(a_mail(quoted), address) == ["250 2.0.0 Kept"]
    assert doors.events() == []


@pytest.mark.parametrize(
    "named", [f"<{'x' * 1200}@mail.example>", "<a b@mail.example>", "none", '<"a"@b@c>', "<é@x.example>"]
)
def test_an_odd_message_id_is_answered(doors: MailDoors, named: str) -> None:
    id = a_sent_reminder(doors.engine)
    mail = a_mail("done").replace(b"<sent@mail.example>", named.encode())
    assert doors.deliver(mail, doors.answer_address(id)) == ["250 2.0.0 Kept"]
    assert len(doors.answers()) == 1


def test_only_an_address_that_was_made_here_is_known(doors: MailDoors, people: People) -> None:
    id = a_sent_reminder(doors.engine)
    address = doors.answer_address(id)
    local_part = address.partition("@")[0]
    forged = {
        f"{local_part[:at]}{'b' if local_part[at] != 'b' else 'c'}{local_part[at + 1 :]}@{DOMAIN}"
        for at in range(2, len(local_part))
    }
    others = {f"{local_part}a@{DOMAIN}", f"{local_part[:-1]}@{DOMAIN}", f"r+@{DOMAIN}", f"{local_part}@mail.example"}
    for one in forged | others:
        assert doors.deliver(a_mail("done"), one)[0].startswith("550 "), one
    with doors.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE accounts SET disabled_at = now()")
    assert doors.deliver(a_mail("done"), address)[0].startswith("550 ")
    assert doors.events() == []


def test_a_link_of_a_page_is_no_address_and_an_address_is_no_link(doors: MailDoors) -> None:
    id = a_sent_reminder(doors.engine)
    local_part = doors.answer_address(id).partition("@")[0].removeprefix("r+").upper()
    raw = b32decode(local_part + "=" * (-len(local_part) % 8))
    with pytest.raises(InvalidLink):
        links.verify(urlsafe_b64encode(raw).rstrip(b"=").decode(), keys=doors.settings.keys)


def test_without_a_domain_there_is_no_door(engine: Engine, settings: Settings, people: People) -> None:
    people.ann()
    with mail_doors(engine, settings, inbound_domain="") as doors:
        id = a_sent_reminder(engine)
        assert doors.deliver(a_mail("done"), doors.answer_address(id))[0].startswith("550 ")


def test_an_answer_to_the_confirmation_changes_the_snooze_while_it_waits(doors: MailDoors) -> None:
    id = a_snooze(doors.engine, remind_at=NEXT)
    first = doors.answer_address(id)
    assert doors.deliver(a_mail("done"), first) == ["250 2.0.0 Kept"]
    assert doors.deliver(a_mail(f"{PHRASE} UTC"), first) == ["250 2.0.0 Kept"]
    assert the_row(doors.engine, id).remind_at == TIME
    assert doors.deliver(a_mail("cancel"), first) == ["250 2.0.0 Kept"]
    assert the_row(doors.engine, id).outcome is None, "it promises another time now"
    assert doors.deliver(a_mail("pause"), doors.answer_address(id)) == ["250 2.0.0 Kept"]
    assert the_row(doors.engine, id).inactive
    assert doors.deliver(a_mail("undo"), doors.answer_address(id)) == ["250 2.0.0 Kept"]
    assert not the_row(doors.engine, id).inactive
    assert [kind for kind, _ in doors.events()] == ["edited", "paused", "undone"]
    words = [text_of(answer).split()[0] for answer in doors.answers()]
    assert words == ["It", "Snoozed:", "It", "Paused:", "Undone."]
