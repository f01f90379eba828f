"""Acts of a person, replies and time concern all messages of a snoozed conversation."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.snoozes import acts
from tests.acting import act, cancel, undo
from tests.db.links import DAILY
from tests.factories import HOUR, an_original, now
from tests.imap.conftest import BOTH
from tests.imap.conversations import (
    RETURNED,
    UNMOVED,
    a_message,
    a_time,
    as_returned,
    asleep_rows,
    back,
    deliver,
    id_of,
    pages,
    put_away,
    row_of,
    snoozed,
    started,
)
from tests.imap.reading import reading
from tests.imap.watched import Place, a_worker

# How many messages each snooze has, the fewest first.
SIZES = "SELECT count(*) FROM messages GROUP BY snooze_id ORDER BY 1"

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
on_one = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)


@pytest.fixture
def mailbox(place: Place) -> Iterator[ConnectedMailbox]:
    with reading(place) as mailbox:
        yield mailbox


@on_both
@pytest.mark.parametrize("policy", ["keep", "cancel_on_reply", "until_reply"])
def test_a_reply_while_it_is_asleep_follows_the_policy(place: Place, mailbox: ConnectedMailbox, policy: str) -> None:
    """Also one to an older message of the conversation."""
    deliver(place, "Plan", 3)
    before = place.program.messages("INBOX")
    started(place)
    id = snoozed(place, mailbox, row_of(mailbox, "Plan").key, time=a_time(reply_policy=policy))
    put_away(place, 3)
    place.program.deliver(a_message("Plan", 3, **{"References": "", "In-Reply-To": id_of("Plan", 1)}), at=now())
    if policy == "keep":
        place.run("UPDATE mailboxes SET synced_at = NULL")
        place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
        assert place.program.messages(place.snoozed) == before
        place.make_due()
    back(place)
    [new, *others] = place.program.messages("INBOX")
    assert id_of("Plan", 3).encode() in new[0]
    assert others == (before if policy == "cancel_on_reply" else as_returned(before))
    [(outcome,)] = place.rows(f"SELECT outcome FROM email_snoozes WHERE id = {id}")  # noqa: S608
    assert outcome == ("cancelled" if policy == "cancel_on_reply" else None)


@on_both
def test_mail_that_came_after_the_page_was_shown_stays(place: Place, mailbox: ConnectedMailbox) -> None:
    deliver(place, "Plan", 3)
    started(place)
    key = row_of(mailbox, "Plan").key
    place.program.deliver(a_message("Plan", 3))
    *_, new = place.program.messages("INBOX")
    snoozed(place, mailbox, key)
    put_away(place, 3)
    assert place.program.messages("INBOX") == [new]


@on_both
def test_copies_and_messages_with_odd_ids_go_along(place: Place, mailbox: ConnectedMailbox) -> None:
    first = a_message("Plan", 0)
    about = f"References: {id_of('Plan', 0)}\r\n".encode()
    odd = [b"", b"Message-ID: <no at sign>\r\n", b"Message-ID: bare@mail.example\r\n", b"Message-ID: <>\r\n"]
    odd += [b"Message-ID: <" + b"x" * 1_200 + b"@mail.example>\r\n", b"Message-ID: <\xc3\xbc@mail.example>\r\n"]
    rest = b"From: Bob <bob@mail.example>\r\nSubject: Re: Plan\r\n\r\nText\r\n"
    for original in [first, *(about + line + rest for line in odd), first, a_message("Plan", 1)]:
        place.program.deliver(original)
    before = place.program.messages("INBOX")
    started(place)
    # Servers may not join a message that is a copy or has no id.
    rows = [row for row in mailbox.page(None).rows if row.thread_size > 1]
    assert sum(row.thread_size for row in rows) >= len(before) - 3
    for row in rows:
        snoozed(place, mailbox, row.key)
    put_away(place, sum(row.thread_size for row in rows))
    left = place.program.messages("INBOX")
    assert sorted(left + place.program.messages(place.snoozed)) == sorted(before)
    place.make_due()
    back(place)
    assert Counter(each[:2] for each in place.program.messages("INBOX")) == Counter(each[:2] for each in before)
    assert len(place.rows(RETURNED)) == len(place.rows("SELECT 1 FROM email_snoozes")) == len(rows)


@on_both
def test_cancel_brings_all_back_and_undo_takes_all_away_again(place: Place, mailbox: ConnectedMailbox) -> None:
    deliver(place, "Plan", 3)
    before = place.program.messages("INBOX")
    started(place)
    id = snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    put_away(place, 3)
    with place.engine.begin() as connection:
        assert cancel(connection, id, email=place.person.email)
    back(place)
    assert place.program.messages("INBOX") == before
    with place.engine.begin() as connection:
        assert undo(connection, id, email=place.person.email)
    put_away(place, 3)
    with place.engine.begin() as connection:
        assert act(connection, id, acts.Wake(), email=place.person.email).left is None
    back(place)
    assert place.program.messages("INBOX") == as_returned(before)
    assert len(place.rows(RETURNED)) == 1


@on_one
def test_a_paused_conversation_stays_until_it_is_resumed(place: Place, mailbox: ConnectedMailbox) -> None:
    deliver(place, "Plan", 3)
    before = place.program.messages("INBOX")
    started(place)
    id = snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    put_away(place, 3)
    for what in (acts.Pause(), acts.Resume()):
        with place.engine.begin() as connection:
            assert act(connection, id, what, email=place.person.email).left is None
        is_paused = isinstance(what, acts.Pause)
        assert len(place.rows("SELECT 1 FROM messages WHERE returns_at IS NULL")) == (3 if is_paused else 0)
    place.make_due()
    back(place)
    assert place.program.messages("INBOX") == as_returned(before)


@on_one
def test_another_time_moves_all_of_it(place: Place, mailbox: ConnectedMailbox) -> None:
    """Chosen at any of its messages."""
    deliver(place, "Plan", 3)
    started(place)
    id = snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    put_away(place, 3)
    [row] = asleep_rows(mailbox)
    for key in (row.key, mailbox.message(row.key).thread[0].key):
        assert mailbox.row(key).message_id == row.message_id
        assert snoozed(place, mailbox, key, time=a_time(days=3)) == id
        assert len(place.rows("SELECT DISTINCT returns_at, snooze_id FROM messages")) == 1
    assert snoozed(place, mailbox, mailbox.message(row.key).thread[0].key, only=True) != id
    assert place.rows(SIZES) == [(1,), (2,)]
    place.make_due()
    back(place)
    assert len(place.rows(RETURNED)) == 2


@on_one
def test_what_repeats_takes_the_conversation_along(place: Place, mailbox: ConnectedMailbox, tmp_path: Path) -> None:
    deliver(place, "Plan", 3)
    started(place)
    daily = a_time(recurrence=DAILY)
    id = snoozed(place, mailbox, row_of(mailbox, "Plan").key, time=daily)
    put_away(place, 3)
    with a_worker(place, tmp_path):
        place.make_due()
        place.eventually(lambda: place.program.count("INBOX") == 3)
        ahead = f"SELECT 1 FROM messages WHERE returns_at > now() AND snooze_id = {id}"  # noqa: S608
        place.eventually(lambda: len(place.rows(ahead)) == 3)
    with place.engine.begin() as connection:
        time = a_time(days=5)
        assert act(connection, id, acts.Move(time=time, from_inbox=True), email=place.person.email).left is None
    put_away(place, 3)


@on_both
def test_with_a_reminder_only_all_of_it_is_archived(place: Place, mailbox: ConnectedMailbox) -> None:
    place.run("UPDATE mailboxes SET brings_back = 'reminder'")
    deliver(place, "Plan", 3)
    before = place.program.messages("INBOX")
    started(place)
    snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    place.eventually(lambda: place.program.messages(place.folder("Archive")) == before)


@on_both
def test_the_return_of_all_takes_the_place_of_the_reminder(
    place: Place, mailbox: ConnectedMailbox, tmp_path: Path
) -> None:
    place.run("UPDATE mailboxes SET brings_back = 'return'")
    deliver(place, "Plan", 9)
    started(place)
    id = snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    put_away(place, 9)
    with a_worker(place, tmp_path) as sink:
        place.make_due()
        back(place)
        place.eventually(lambda: place.rows(f"SELECT 1 FROM email_snoozes WHERE id = {id} AND inactive"))  # noqa: S608
        assert sink.accepted() == []


@on_both
def test_a_server_that_knows_no_conversations(place: Place) -> None:
    lacking = ("THREAD=REFS", "THREAD=REFERENCES", "THREAD=ORDEREDSUBJECT", "MOVE", "UIDPLUS")
    place.program.deliver(an_original(subject="Other", message_id="<other@mail.example>"))
    deliver(place, "Plan", 9)
    before = place.program.shown("INBOX")
    place.start(without=lacking)
    with reading(place, without=lacking) as mailbox:
        snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    place.eventually(lambda: len(place.program.shown(place.snoozed)) == 9 and not place.rows(UNMOVED))
    assert len(place.program.shown("INBOX")) == 1
    place.make_due()
    back(place)
    assert [each[:2] for each in place.program.shown("INBOX")] == [each[:2] for each in before]


@on_one
def test_the_pages_snooze_a_conversation_or_one_message(place: Place) -> None:
    deliver(place, "Plan", 3)
    deliver(place, "Alone", 1)
    at, path = {"at": (now() + 50 * HOUR).isoformat()}, f"/mailboxes/{place.mailbox_id}/mail"
    with pages(place) as ann:
        listed = ann.get(path).text
        [whole] = re.findall(r'data-sheet-url="([^"]+whole=[^"]+)"', listed)
        assert listed.count("whole=") == 2
        message = ann.get(whole.split("/snooze")[0]).text
        assert f'data-sheet-url="{whole}"' in message
        assert 'name="only"' in message
        assert 'name="only"' in ann.get(whole).text
        assert ann.post(whole, data=at | {"only": "on"}).status_code == 303
        assert place.rows(SIZES) == [(1,)]
        [whole] = re.findall(r'data-sheet-url="([^"]+whole=[^"]+)"', ann.get(path).text)
        assert ann.post(whole, data=at).status_code == 303
        assert place.rows(SIZES) == [(1,), (2,)]
        assert ann.post(whole.split("whole=")[0] + "whole=x", data=at).status_code == 404
    place.start()
    put_away(place, 3)
