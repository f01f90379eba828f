"""A reply that comes into the inbox of a connected mailbox ends a snooze that waits for one, or brings it back."""

from datetime import datetime, timedelta

import pytest

from snoozer.queue.promise import ReminderTime
from tests.acting import reschedule
from tests.factories import an_original, now
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import a_message
from tests.imap.watched import Place
from tests.mail.answers import MACHINES, ODD_IDS, PEOPLE, an_answer

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
on_dovecot = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)

SYNCED = "SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"
ASKED = "<question@mail.example>"


def snooze_until_reply(place: Place, *, folder: str = "3d if no reply") -> None:
    """The question is moved into this folder by any mail program, and asleep."""
    place.program.create(place.folder("Snooze", folder))
    place.program.deliver(an_original(message_id=ASKED))
    place.start()
    place.program.move("INBOX", place.folder("Snooze", folder))
    place.eventually(lambda: place.asleep() == 1)
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE replies_uidnext IS NOT NULL"))


def set_policy(place: Place, policy: str, *, scope: str = "message") -> None:
    """Chosen on the page, for three days."""
    time = ReminderTime(remind_at=now() + timedelta(days=3), reply_policy=policy, reply_scope=scope)  # type: ignore[arg-type]
    with place.engine.begin() as connection:
        id = place.snooze_of(ASKED).id
        assert reschedule(connection, id, time, email=place.person.email)


def a_reply(place: Place, *, at: datetime | None = None, **fields: str) -> None:
    place.program.deliver(a_message(**{"In_Reply_To": ASKED} | fields), at=at or now())


def is_read(place: Place) -> object:
    """All that lies in the inbox was looked at."""
    [(uidnext,)] = place.rows("SELECT replies_uidnext FROM mailboxes")
    return uidnext is not None and uidnext > place.program.highest_uid("INBOX")


@on_both
def test_a_reply_cancels_the_snooze_and_the_message_is_back_where_it_was(place: Place) -> None:
    snooze_until_reply(place)
    assert place.snooze_of(ASKED).remind_at > now() + timedelta(hours=71)
    before = place.program.messages(place.snoozed)
    a_reply(place)
    place.eventually(lambda: place.snooze_of(ASKED).outcome == "cancelled")
    place.eventually(lambda: place.program.count("INBOX") == 2)
    assert before[0] in place.program.messages("INBOX")
    [(actor, detail)] = place.rows("SELECT actor, detail FROM snooze_events WHERE kind = 'cancelled'")
    assert (actor, detail["why"], "came" in detail) == ("reply", "reply", True)


@on_dovecot
def test_a_reply_brings_the_message_back_at_once(place: Place) -> None:
    snooze_until_reply(place)
    set_policy(place, "until_reply")
    a_reply(place)
    place.eventually(lambda: place.program.count("INBOX") == 2)
    place.eventually(lambda: place.rows("SELECT 1 FROM reminder_sends WHERE channel = 'mailbox' AND state = 'sent'"))
    assert place.snooze_of(ASKED).remind_at <= now()


@on_dovecot
def test_neither_machines_nor_the_person_nor_others_end_it(place: Place) -> None:
    snooze_until_reply(place)
    a_reply(place, Auto_Submitted="auto-replied")
    a_reply(place, In_Reply_To="<another@mail.example>")
    a_reply(place, at=now() - timedelta(hours=1))
    original = a_message(In_Reply_To=ASKED)
    place.program.deliver(original.replace(b"ben@example.org", place.person.email.encode()), at=now())
    place.eventually(lambda: is_read(place))
    assert place.snooze_of(ASKED).outcome is None
    a_reply(place)
    place.eventually(lambda: place.snooze_of(ASKED).outcome == "cancelled")


@on_dovecot
def test_no_answer_of_a_machine_ends_it_and_one_of_a_person_does(place: Place) -> None:
    snooze_until_reply(place)
    for number, fields in enumerate(MACHINES.values()):
        answer = an_answer(fields, to=ASKED, message_id=f"<{number}@mail.example>")
        place.program.deliver(answer, at=now())
    place.eventually(lambda: is_read(place))
    assert place.snooze_of(ASKED).outcome is None
    place.program.deliver(an_answer(PEOPLE["Exchange"], to=ASKED), at=now())
    place.eventually(lambda: place.snooze_of(ASKED).outcome == "cancelled")


@on_dovecot
def test_a_reply_is_found_by_the_id_as_it_came(place: Place) -> None:
    """By the smallest scope, for all odd ids at once."""
    folder = place.folder("Snooze", "3d if no reply")
    place.program.create(folder)
    for number, (written, _) in enumerate(ODD_IDS.values()):
        fields = {"subject": f"question {number}", "References": "<first@mail.example>"}
        place.program.deliver(a_message(number, message_id=written, **fields))
    place.start()
    place.program.move("INBOX", folder)
    place.eventually(lambda: place.asleep() == len(ODD_IDS))
    place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE replies_uidnext IS NOT NULL"))
    a_reply(place, In_Reply_To="<first@mail.example>")
    place.eventually(lambda: is_read(place))
    assert place.asleep() == len(ODD_IDS)
    for number, (_, named) in enumerate(ODD_IDS.values()):
        place.program.deliver(an_answer({"Message-ID": f"<odd{number}@mail.example>"}, to=named), at=now())
    place.eventually(lambda: place.asleep() == 0)


@on_dovecot
def test_a_reply_to_the_thread_counts_where_that_was_chosen(place: Place) -> None:
    place.program.create(place.folder("Snooze", "3d if no reply"))
    place.program.deliver(a_message(message_id=ASKED, References="<first@mail.example> <second@mail.example>"))
    place.start()
    place.program.move("INBOX", place.folder("Snooze", "3d if no reply"))
    place.eventually(lambda: place.asleep() == 1)
    a_reply(place, In_Reply_To="<first@mail.example>")
    place.eventually(lambda: is_read(place))
    assert place.snooze_of(ASKED).outcome is None
    set_policy(place, "cancel_on_reply", scope="thread")
    a_reply(place, In_Reply_To="<first@mail.example>")
    place.eventually(lambda: place.snooze_of(ASKED).outcome == "cancelled")


@on_dovecot
def test_a_reply_that_comes_while_no_process_watches_is_not_missed(place: Place) -> None:
    snooze_until_reply(place)
    place.stop()
    a_reply(place)
    place.program.deliver(a_message())
    place.start()
    place.eventually(lambda: place.snooze_of(ASKED).outcome == "cancelled")
    place.eventually(lambda: place.program.count("INBOX") == 3)


@on_dovecot
@pytest.mark.parametrize("change", ["replies_uidvalidity = 7", "replies_uidnext = 1000000"])
def test_an_inbox_that_counts_anew_is_read_by_date(place: Place, change: str) -> None:
    """What was read before does nothing again, and what came since is found."""
    snooze_until_reply(place)
    a_reply(place, at=now() - timedelta(hours=1))
    place.eventually(lambda: is_read(place))
    place.stop()
    place.run("UPDATE email_snoozes SET reply_since = reply_since - INTERVAL '2 hours'")
    place.run(f"UPDATE mailboxes SET {change}")  # noqa: S608
    place.start()
    place.eventually(lambda: is_read(place) and not place.rows(f"SELECT 1 FROM mailboxes WHERE {change}"))  # noqa: S608
    assert place.snooze_of(ASKED).outcome is None
    place.stop()
    a_reply(place)
    place.run(f"UPDATE mailboxes SET {change}")  # noqa: S608
    place.start()
    place.eventually(lambda: place.snooze_of(ASKED).outcome == "cancelled")


@on_dovecot
def test_an_inbox_of_which_no_snooze_waits_for_a_reply_is_not_read(place: Place) -> None:
    snooze_until_reply(place)
    set_policy(place, "keep")
    place.eventually(lambda: not place.rows("SELECT 1 FROM mailboxes WHERE replies_uidnext IS NOT NULL"))
    a_reply(place)
    place.run("UPDATE mailboxes SET synced_at = NULL")
    place.eventually(lambda: place.rows(SYNCED))
    assert place.snooze_of(ASKED).outcome is None
    assert place.rows("SELECT replies_uidnext FROM mailboxes") == [(None,)]
