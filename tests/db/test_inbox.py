"""The kept mailbox: originals stay as received, each is stored once, and a malformed message is readable."""

import hashlib
from threading import Thread

import pytest
from sqlalchemy import Engine, text

from snoozer.cli import inbound
from snoozer.db import mailbox_store
from snoozer.db.mailbox_store import KeptFolder
from snoozer.mailboxes import inbox
from snoozer.mailboxes.inbound.lmtp_server import IncomingMail
from tests.factories import ANN, HOUR, People, a_kept_message, a_snooze, an_original, now, wait_until_a_session_waits

UNNAMED = b"From: backup@mail.example\r\nSubject: The disk is full\r\n\r\nNo Message-ID, no date\r\n"
TAKEN = "<taken@mail.example>"


def keep(engine: Engine, original: bytes) -> inbox.StoredMessage:
    with engine.begin() as connection:
        return inbox.store(connection, user_email=ANN, original=original)


@pytest.mark.parametrize("original", [an_original(), UNNAMED])
def test_a_mail_that_is_delivered_again_is_kept_once_and_accepted(
    engine: Engine, people: People, original: bytes
) -> None:
    people.ann()
    incoming = IncomingMail(mail_from="bob@mail.example", rcpt_to=(ANN, ANN.upper()), original=original)
    for _ in range(3):
        assert inbound.store(engine, incoming) == [inbound.STORED] * 2
    with engine.connect() as connection:
        [row] = connection.execute(
            text("SELECT message_id, original FROM messages JOIN message_originals USING (id)")
        ).all()
    assert bytes(row.original) == original


@pytest.mark.parametrize("sender", ["", "bob@mail.example", "böb@mail.example", "b=" + "x" * 240 + "@mail.example"])
def test_the_sender_of_the_envelope_is_kept(engine: Engine, people: People, sender: str) -> None:
    people.ann()
    incoming = IncomingMail(mail_from=sender, rcpt_to=(ANN,), original=an_original())
    assert inbound.store(engine, incoming) == [inbound.STORED]
    with engine.connect() as connection:
        assert list(connection.execute(text("SELECT return_path FROM messages")).scalars()) == [sender]


def test_a_mail_to_many_is_stored_for_a_few_in_each_transaction(engine: Engine, people: People) -> None:
    addresses = [f"ann{number}@snoozer.example" for number in range(inbound.RECIPIENTS_AT_ONCE + 1)]
    for address in addresses:
        people.ann(email=address)
    original = an_original()
    incoming = IncomingMail(mail_from="", rcpt_to=tuple(addresses), original=original)
    with engine.begin() as holding:
        # The last of them cannot be stored for a while; the others are not asked for again.
        digest = hashlib.sha256(original).hexdigest()
        mailbox_store.lock_original(holding, user_email=addresses[-1], sha256=digest)
        answers: list[str] = []
        storing = Thread(target=lambda: answers.extend(inbound.store(engine, incoming)))
        storing.start()
        wait_until_a_session_waits(engine, who=storing)
        with engine.connect() as watcher:
            stored = watcher.execute(text("SELECT count(*) FROM messages")).scalar_one()
    storing.join()
    assert stored == inbound.RECIPIENTS_AT_ONCE
    assert answers == [inbound.STORED] * len(addresses)


def test_the_same_mail_by_another_way_is_known(engine: Engine) -> None:
    original = an_original()
    first, second = keep(engine, original), keep(engine, original)
    assert (first.new, second.new) == (True, False)
    assert first.id == second.id


@pytest.mark.parametrize(
    "original", [an_original(), UNNAMED, an_original(message_id=TAKEN)], ids=["named", "unnamed", "name taken"]
)
def test_two_deliveries_of_one_mail_at_the_same_moment_are_kept_once(engine: Engine, original: bytes) -> None:
    keep(engine, an_original(message_id=TAKEN, body="The first of that name"))
    answers: list[inbox.StoredMessage] = []
    with engine.begin() as connection:
        first = inbox.store(connection, user_email=ANN, original=original)
        second = Thread(target=lambda: answers.append(keep(engine, original)))
        second.start()
        wait_until_a_session_waits(engine, who=second)
    second.join()
    assert answers == [inbox.StoredMessage(id=first.id, new=False)]


@pytest.mark.parametrize("folder", ["done", "snoozed"])
def test_a_new_message_in_the_same_words_is_kept_after_the_first_was_seen(engine: Engine, folder: KeptFolder) -> None:
    first = keep(engine, UNNAMED)
    assert keep(engine, UNNAMED) == inbox.StoredMessage(id=first.id, new=False)
    with engine.begin() as connection:
        [name] = connection.execute(text("SELECT message_id FROM messages")).scalars()
    a_snooze(engine, message_id=name, remind_at=now() + HOUR)
    with engine.begin() as connection:
        assert mailbox_store.move(connection, user_email=ANN, message_id=name, folder=folder)
    second = keep(engine, UNNAMED)
    assert second.new
    assert second.id != first.id


@pytest.mark.parametrize("known_by", [b"Message-ID: <once@mail.example>", b"Date: Thu, 5 Mar 2026 10:20:00 +0000"])
def test_a_mail_with_a_name_or_a_date_that_comes_again_stays_done(engine: Engine, known_by: bytes) -> None:
    original = known_by + b"\r\n" + UNNAMED
    first = keep(engine, original)
    with engine.begin() as connection:
        [name] = connection.execute(text("SELECT message_id FROM messages")).scalars()
        mailbox_store.move(connection, user_email=ANN, message_id=name, folder="done")
    assert keep(engine, original) == inbox.StoredMessage(id=first.id, new=False)


def test_a_message_that_claims_a_taken_message_id_is_kept_beside_the_first(engine: Engine) -> None:
    keep(engine, an_original(message_id="<taken@mail.example>", body="first"))
    keep(engine, an_original(message_id="<taken@mail.example>", body="second"))
    with engine.connect() as connection:
        ids = connection.execute(text("SELECT message_id FROM messages ORDER BY id")).scalars().all()
    assert ids[0] == "<taken@mail.example>"
    assert ids[1].endswith("@kept.snoozer.invalid>")


def test_a_message_without_a_message_id_can_be_snoozed(engine: Engine) -> None:
    keep(engine, b"From: bob@mail.example\r\n\r\nHello\r\n")
    with engine.connect() as connection:
        [message_id] = connection.execute(text("SELECT message_id FROM messages")).scalars()
    assert message_id.endswith("@kept.snoozer.invalid>")


def test_two_people_each_have_their_own_copy(engine: Engine) -> None:
    original = an_original()
    anns = a_kept_message(engine, original=original)
    assert a_kept_message(engine, original=original, user_email="bob@snoozer.example") != anns
    with engine.connect() as connection:
        owners = connection.execute(text("SELECT user_email FROM messages ORDER BY id")).scalars().all()
    assert owners == [ANN, "bob@snoozer.example"]


def test_mail_belongs_to_verified_addresses_only(engine: Engine, people: People) -> None:
    people.ann()
    with engine.begin() as connection:
        assert inbox.owner(connection, address="ANN@Snoozer.example") == ANN
        assert inbox.owner(connection, address="eve@snoozer.example") is None
        connection.execute(text("UPDATE accounts SET verified_at = NULL"))
        assert inbox.owner(connection, address=ANN) is None


@pytest.mark.parametrize("address", ["ann@bücher.example", "Ann@BÜCHER.example", "ann@xn--bcher-kva.example"])
def test_mail_to_a_domain_in_its_own_letters_finds_its_owner(engine: Engine, people: People, address: str) -> None:
    people.ann(email="ann@xn--bcher-kva.example")
    with engine.begin() as connection:
        assert inbox.owner(connection, address=address) == "ann@xn--bcher-kva.example"
        assert inbox.owner(connection, address="änn@bücher.example") is None


@pytest.mark.parametrize(
    "address", ["müller@bücher.example", "Mu\u0308ller@Bücher.Example", "MÜLLER@xn--bcher-kva.example"]
)
def test_an_account_whose_address_is_not_ascii_gets_its_mail(engine: Engine, people: People, address: str) -> None:
    people.ann(email="Müller@Bücher.example")
    incoming = IncomingMail(mail_from="", rcpt_to=(address,), original=an_original())
    assert inbound.store(engine, incoming) == [inbound.STORED]
    with engine.connect() as connection:
        assert list(connection.execute(text("SELECT user_email FROM messages")).scalars()) == [
            "müller@xn--bcher-kva.example"
        ]


def test_every_broken_message_of_the_corpus_is_kept_byte_for_byte_and_has_a_name(
    engine: Engine, messages: dict[str, bytes]
) -> None:
    for original in messages.values():
        keep(engine, original)
    with engine.connect() as connection:
        rows = connection.execute(
            text(
                "SELECT original, sha256, subject, sender_email, message_id "
                "FROM messages JOIN message_originals USING (id)"
            )
        )
        found = rows.all()
    assert {bytes(row.original) for row in found} == set(messages.values())
    assert all(hashlib.sha256(row.original).hexdigest() == row.sha256 for row in found)
    assert all(row.message_id for row in found)
    assert all((row.subject or "x").isprintable() for row in found)
