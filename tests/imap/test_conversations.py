"""A conversation is snoozed as one: all its messages leave the inbox, and come back together, in their order."""

import signal
from collections.abc import Iterator

import pytest

from snoozer.mailboxes.read.connected import ConnectedMailbox
from snoozer.runtime.failpoint import MOVE_STEPS
from tests.factories import an_original
from tests.imap.conftest import BOTH
from tests.imap.conversations import (
    RETURNED,
    as_returned,
    asleep_rows,
    back,
    deliver,
    id_of,
    put_away,
    row_of,
    snoozed,
    started,
)
from tests.imap.reading import reading
from tests.imap.watched import Place

on_both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
STEPS = [step for step in MOVE_STEPS if step not in ("imap_copied", "imap_flagged")]
on_one = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)


@pytest.fixture
def mailbox(place: Place) -> Iterator[ConnectedMailbox]:
    with reading(place) as mailbox:
        yield mailbox


@on_both
@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_a_conversation_leaves_and_returns_as_one_snooze(place: Place, mailbox: ConnectedMailbox, count: int) -> None:
    place.program.deliver(an_original(subject="Other", message_id="<other@mail.example>"))
    deliver(place, "Plan", count)
    other, *before = place.program.messages("INBOX")
    started(place)
    row = row_of(mailbox, "Plan")
    assert row.thread_size == count
    id = snoozed(place, mailbox, row.key)
    assert [each.subject for each in mailbox.page(None).rows] == ["Other"]
    put_away(place, count)
    assert place.program.messages("INBOX") == [other]
    assert place.program.messages(place.snoozed) == before
    [asleep] = asleep_rows(mailbox)
    assert (asleep.snooze_id, asleep.thread_size, asleep.subject) == (id, count, row.subject)
    assert place.rows("SELECT count(*) FROM email_snoozes") == [(1,)]
    place.make_due()
    back(place)
    assert place.program.messages("INBOX") == [other, *as_returned(before)]
    assert len(place.rows(RETURNED)) == 1
    assert row_of(mailbox, "Plan").returned_at is not None


@on_both
def test_a_message_is_chosen_alone(place: Place, mailbox: ConnectedMailbox) -> None:
    deliver(place, "Plan", 3)
    before = place.program.messages("INBOX")
    started(place)
    snoozed(place, mailbox, row_of(mailbox, "Plan").key, only=True)
    put_away(place, 1)
    assert place.program.messages("INBOX") == before[:2]
    assert place.program.messages(place.snoozed) == before[2:]


@on_both
@pytest.mark.parametrize("taken", [0, 2], ids=["an older one", "the newest"])
def test_a_message_that_is_taken_out_ends_for_that_one_only(
    place: Place, mailbox: ConnectedMailbox, taken: int
) -> None:
    deliver(place, "Plan", 3)
    before, filed = place.program.messages("INBOX"), place.folder("Filed")
    place.program.create(filed)
    started(place)
    id = snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    put_away(place, 3)
    uids = sorted(place.program.uids(place.snoozed))
    place.program.move(place.snoozed, filed, uids=str(uids[taken]))
    place.eventually(lambda: place.rows("SELECT 1 FROM snooze_events WHERE kind = 'left'"))
    assert place.snooze_of(id_of("Plan", 2)).outcome is None
    rows = asleep_rows(mailbox)
    assert {row.snooze_id for row in rows} == {id}
    place.make_due()
    back(place)
    assert place.program.messages(filed) == [before[taken]]
    left = [message for number, message in enumerate(before) if number != taken]
    shown = place.program.messages("INBOX")
    assert [each[:2] for each in shown] == [each[:2] for each in left]
    assert r"\Seen" not in shown[-1][2]
    assert len(place.rows(RETURNED)) == 1


@on_both
def test_the_snooze_ends_if_all_are_taken_out(place: Place, mailbox: ConnectedMailbox) -> None:
    deliver(place, "Plan", 3)
    filed = place.folder("Filed")
    place.program.create(filed)
    started(place)
    snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    put_away(place, 3)
    place.program.move(place.snoozed, filed)
    place.eventually(lambda: place.snooze_of(id_of("Plan", 2)).outcome == "cancelled")
    assert place.program.count(filed) == 3
    assert place.rows("SELECT 1 FROM messages") == []


@on_both
@pytest.mark.parametrize("step", STEPS)
def test_the_process_dies_at_each_step(place: Place, mailbox: ConnectedMailbox, step: str) -> None:
    deliver(place, "Plan", 9)
    before = place.program.messages("INBOX")
    snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    for number in range(2):
        if step != "noticed":
            killed = place.process(failpoint=f"{step}:kill:{4 if step != 'imap_moved' else 1}")
            assert killed.wait() == -signal.SIGKILL
            place.forget_owner()
        place.start()
        if number == 0:
            put_away(place, 9)
            assert place.program.messages(place.snoozed) == before
            place.stop()
            place.make_due()
    back(place)
    assert place.program.messages("INBOX") == as_returned(before)
    assert len(place.rows(RETURNED)) == 1


@on_both
def test_the_last_message_is_taken_out_when_it_is_due(place: Place, mailbox: ConnectedMailbox) -> None:
    """The others are back, so the conversation is."""
    deliver(place, "Plan", 3)
    filed = place.folder("Filed")
    place.program.create(filed)
    started(place)
    snoozed(place, mailbox, row_of(mailbox, "Plan").key)
    put_away(place, 3)
    place.stop()
    place.program.move(place.snoozed, filed, uids=str(max(place.program.uids(place.snoozed))))
    place.make_due()
    place.start()
    place.eventually(lambda: place.rows("SELECT 1 FROM snooze_events WHERE kind = 'left'"))
    back(place)
    assert place.program.count("INBOX") == 2
    assert len(place.rows(RETURNED)) == 1
