"""Reminders follow the thread of their original, and those that come back are no new mail."""

import imaplib
import re
import shutil
from datetime import timedelta
from email.parser import BytesHeaderParser

import pytest
from sqlalchemy import Engine, text

from snoozer.mail.compose import ReminderWriter
from snoozer.mailboxes import inbox
from snoozer.queue import ledger
from snoozer.queue.reminder import Send, UncertainPolicy
from tests.conftest import missing
from tests.db.transitions import a_held_mail, authorise, mark_uncertain_one
from tests.factories import ANN, HOUR, a_kept_message, now
from tests.imap import dovecot

WRITER = ReminderWriter(
    mail_from="Snoozer <snoozer@snoozer.example>", base_url="https://snoozer.example", keys=["key"], instance="i-1"
)
ORIGINAL = b"From: bob@mail.example\r\nSubject: Figures\r\nReferences: <1@x> <2@x>\r\nMessage-ID: %b\r\n\r\n%b\r\n"


def message_id_of(engine: Engine, id: int) -> str:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT message_id FROM messages WHERE id = :id"), {"id": id})
        return str(found.scalar_one())


def threads_in(client: imaplib.IMAP4, folder: str) -> int:
    """How many threads the server finds; it writes those without a common message as `((1)(2))`."""
    client.select(folder, readonly=True)
    written, depth, count = client.thread("REFERENCES", "UTF-8", "ALL")[1][0].decode(), 0, 0
    for sign in written:
        count += sign == "(" and depth == 0
        depth += (sign == "(") - (sign == ")")
    return count


def in_folders(engine: Engine) -> list[tuple[str, str]]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT folder, message_id FROM messages ORDER BY folder, id"))
        return [(row.folder, row.message_id) for row in rows]


def come_back(engine: Engine, send: Send) -> inbox.StoredMessage:
    with engine.begin() as connection:
        return inbox.store(connection, user_email=ANN, original=WRITER.write(send))


@pytest.mark.parametrize(
    ("written", "threads"),
    [(b"<3@x>", "<3@x>"), (b"<no at sign>", "<noatsign>"), (b"3@x", "<3@x>"), (b'<"a b"@x>', '<"ab"@x>')],
)
def test_a_copy_and_an_odd_id_thread_with_their_original(engine: Engine, written: bytes, threads: str) -> None:
    for body in (b"first", b"second"):
        id = a_kept_message(engine, original=ORIGINAL % (written, body))
    stand_in = message_id_of(engine, id)
    assert stand_in.endswith("@kept.snoozer.invalid>")
    _, send = a_held_mail(engine, message_id=stand_in)
    assert send.thread_ids == f"<1@x> <2@x> {threads}"


@pytest.mark.dovecot
def test_dovecot_puts_each_reminder_in_the_thread_of_its_original(engine: Engine, messages: dict[str, bytes]) -> None:
    """Dovecot threads by ids, which must be whole; other messages by their subjects, which a reminder repeats. So
    for a whole id the subjects differ here."""
    if shutil.which("dovecot") is None:
        missing("dovecot")
    pairs: dict[int, tuple[bytes, bytes]] = {}
    for original in messages.values():
        id, head = a_kept_message(engine, original=original), BytesHeaderParser().parsebytes(original)
        written, subject = str(head["Message-ID"] or "").strip(), "Unlike all others"
        if re.search(r"<[^<>@\s]+@[^<>@\s]+>", written) is None:
            subject = str(head["Subject"])
            # Dovecot reads bytes without a charset differently.
            written = written if subject.isascii() else ""
        if written and id not in pairs:
            _, send = a_held_mail(engine, message_id=message_id_of(engine, id), subject=subject)
            pairs[id] = original, WRITER.write(send)
    assert pairs
    with dovecot.running() as server, imaplib.IMAP4("127.0.0.1", server.imap_port) as client:
        client.login(ANN, dovecot.PASSWORD)
        for id, mails in pairs.items():
            client.create(f"pair{id}")
            for mail in mails:
                assert client.append(f"pair{id}", "", "", mail)[0] == "OK"
        assert {id: threads_in(client, f"pair{id}") for id in pairs} == dict.fromkeys(pairs, 1)


def test_an_original_that_arrives_after_its_snooze_changes_no_bytes(engine: Engine) -> None:
    with_created = {"message_id": "<3@x>", "created_at": now() - HOUR}
    a_kept_message(engine, original=ORIGINAL % (b"<3@x>", b"late"))
    _, send = a_held_mail(engine, **with_created)
    assert send.thread_ids is None


def test_a_reminder_has_the_excerpt_of_an_original_that_was_kept_before_its_snooze(engine: Engine) -> None:
    a_kept_message(engine, original=ORIGINAL % (b"<3@x>", b"The figures are ready."))
    a_kept_message(engine, original=ORIGINAL % (b"<4@x>", b"late"))
    _, send = a_held_mail(engine, message_id="<3@x>")
    assert send.excerpt == "The figures are ready."
    assert b"The figures are ready." in WRITER.write(send)
    for foreign in ({"message_id": "<4@x>", "created_at": now() - HOUR}, {"user_email": "bob@snoozer.example"}):
        assert a_held_mail(engine, **foreign)[1].excerpt is None


def test_a_reminder_that_comes_back_is_merged_with_its_kept_message(engine: Engine) -> None:
    id = a_kept_message(engine, original=ORIGINAL % (b"<3@x>", b"x"))
    _, send = a_held_mail(engine, message_id="<3@x>")
    assert authorise(engine, send)
    for _ in range(2):
        assert not come_back(engine, send).new
    assert in_folders(engine) == [("inbox", "<3@x>"), ("reminders", send.reminder_message_id)]
    assert message_id_of(engine, id) == "<3@x>"


def test_a_reminder_of_a_message_that_is_not_kept_stands_for_it_once(engine: Engine) -> None:
    _, send = a_held_mail(engine, message_id="<elsewhere@x>", sender_email="Ann Berg <ann@a.example>")
    assert authorise(engine, send)
    first = come_back(engine, send)
    assert first.new
    assert message_id_of(engine, first.id) == "<elsewhere@x>"
    assert not come_back(engine, send).new
    with engine.connect() as connection:
        shown = connection.execute(
            text("SELECT sender_name, sender_email, subject FROM messages WHERE folder = 'inbox'")
        ).one()
    assert tuple(shown) == ("Ann Berg", "ann@a.example", "Quarterly figures")


def test_another_persons_reminder_is_mail(engine: Engine) -> None:
    _, send = a_held_mail(engine, user_email="bob@snoozer.example")
    assert authorise(engine, send)
    assert come_back(engine, send).new
    assert [folder for folder, _ in in_folders(engine)] == ["inbox"]


def test_a_reminder_that_came_back_is_known_to_have_arrived(engine: Engine) -> None:
    a_kept_message(engine, original=ORIGINAL % (b"<3@x>", b"x"))
    held, send = a_held_mail(engine, message_id="<3@x>")
    authorise(engine, send)
    come_back(engine, send)
    with engine.begin() as connection:
        mark_uncertain_one(connection, send)
        policy = UncertainPolicy(hold=timedelta(0), lookups=2)
        assert ledger.verify(connection, uncertainty=policy, batch_size=10) == [(held.id, True)]
