"""What is known of a digest later: by who acts on one of its reminders, by the clock, by its own copy in a mailbox; and
what becomes of it when its person's day changes or their account goes."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.delivery.chores import chores
from snoozer.mail.links import Action, Link
from snoozer.mailboxes import inbox
from snoozer.queue import ledger
from snoozer.queue.reminder import Send, UncertainPolicy
from snoozer.snoozes import reminder_links
from snoozer.snoozes.acts import Pause
from tests import acting
from tests.acting import cancel
from tests.db.archived import RETENTION
from tests.db.days import choose, quiet, turn
from tests.db.digests import accept, answer, change, deferred, gathered, listed, outcomes, silent, wake
from tests.db.invariants import look
from tests.db.transitions import authorise
from tests.factories import ANN, an_original, the_row, the_send

HELD_LONG = "UPDATE reminder_sends SET uncertain_at = now() - INTERVAL '2 hours' WHERE state = 'uncertain'"


def an_uncertain_digest(engine: Engine) -> tuple[list[int], Send]:
    ids = deferred(engine, 4)
    delivery = gathered(engine)
    silent(engine, delivery)
    assert delivery.send is not None
    return ids, delivery.send


def done(engine: Engine, id: int, *, action: Action = "see") -> bool:
    link = Link(snooze_id=id, scheduled_for=the_row(engine, id).scheduled_for, action=action)
    with engine.begin() as connection:
        occurrence = reminder_links.find(connection, link=link, acting=True)
        assert occurrence is not None
        return reminder_links.done(connection, occurrence=occurrence, route="link")


@pytest.mark.parametrize("number", [0, 2])
def test_who_is_done_with_one_of_them_by_the_mail_gets_no_copy_of_it(engine: Engine, number: int) -> None:
    ids, _ = an_uncertain_digest(engine)
    assert done(engine, ids[number])
    change(engine, HELD_LONG)
    for _ in range(2):
        wake(engine)
        assert turn(engine) == []
    assert outcomes(engine, ids) == ["cancelled" if one == ids[number] else "sent" for one in ids]
    assert [the_send(engine, id).resolution for id in ids if id != ids[number]].count("digest") == 3 - (number > 0)
    assert look(engine) == {}


def test_a_button_of_a_notification_says_nothing_of_a_mail_that_reminds_of_others(engine: Engine) -> None:
    ids, mail = an_uncertain_digest(engine)
    assert done(engine, ids[2], action="done")
    change(engine, HELD_LONG)
    wake(engine)
    [copy] = turn(engine)
    assert listed(copy.send) == ids
    silent(engine, copy)
    assert done(engine, ids[0], action="done")
    assert the_send(engine, ids[0]).state == "uncertain"
    assert mail.snooze_id == ids[0]


@pytest.mark.parametrize("deleted", [False, True], ids=["changed", "deleted"])
def test_a_change_of_the_day_takes_nothing_out_of_a_mail_that_may_have_been_sent(engine: Engine, deleted: bool) -> None:
    """Nor does a single mail come beside it because the shape of the day was deleted."""
    ids, mail = an_uncertain_digest(engine)
    if deleted:
        change(engine, "DELETE FROM day_shapes")
        wake(engine)
        assert turn(engine) == []
    else:
        # A rest that came meanwhile deferred them once more, and then there is none.
        change(
            engine,
            "UPDATE email_snoozes SET remind_at = now() + INTERVAL '1 hour', "
            "deferred_until = now() + INTERVAL '1 hour' WHERE snooze_keeps('promise')",
        )
        choose(engine, replace(quiet(), quiet_from=None, quiet_until=None))
        assert the_row(engine, ids[0]).deferred_until is None
    change(engine, HELD_LONG)
    wake(engine)
    [copy] = turn(engine)
    assert copy.send is not None
    assert copy.send.members == mail.members
    accept(engine, [copy])
    wake(engine)
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["sent"] * 4


def test_without_the_shape_of_the_day_what_was_not_sent_comes_singly(engine: Engine) -> None:
    ids = deferred(engine, 4)
    assert turn(engine) == []
    change(engine, "DELETE FROM day_shapes")
    wake(engine)
    change(engine, "UPDATE email_snoozes SET remind_at = now() + INTERVAL '1 hour' WHERE id = :id", id=ids[0])
    assert turn(engine) == []
    wake(engine)
    deliveries = turn(engine)
    assert [one.send.members for one in deliveries if one.send] == [()] * 4
    accept(engine, deliveries)
    assert outcomes(engine, ids) == ["sent"] * 4


def test_the_clock_enters_what_was_cancelled_or_paused_while_the_mail_was_under_way(engine: Engine) -> None:
    ids = deferred(engine, 5)
    delivery = gathered(engine)
    assert delivery.send is not None
    assert authorise(engine, delivery.send)
    with engine.begin() as connection:
        cancel(connection, ids[2])
        acting.done(connection, ids[3], Pause())
    answer(engine, [delivery])
    chores.prune(engine)
    assert the_send(engine, ids[2]).state == "failed"
    change(engine, "UPDATE digests SET gathered_at = now() - INTERVAL '2 hours'")
    chores.prune(engine)
    assert [the_send(engine, id).state for id in ids] == ["sent"] * 5
    assert look(engine) == {}
    change(engine, "UPDATE digests SET gathered_at = now() - :age", age=RETENTION.archive_after)
    chores.maintain_partitions(engine, config=RETENTION)
    assert counted(engine) == (0, 0)
    # The one that a claim has yet to settle finds that in the ledger.
    wake(engine)
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["sent", "sent", "cancelled", None, "sent"]


def test_a_digest_whose_mail_may_have_been_sent_is_kept(engine: Engine) -> None:
    ids, _ = an_uncertain_digest(engine)
    change(engine, "UPDATE digests SET gathered_at = now() - INTERVAL '1 year'")
    chores.prune(engine)
    chores.maintain_partitions(engine, config=RETENTION)
    assert counted(engine) == (1, len(ids) - 1)


def test_digests_go_with_the_account(engine: Engine) -> None:
    ids = deferred(engine, 4)
    accept(engine, [gathered(engine)])
    assert counted(engine) == (1, len(ids) - 1)
    change(engine, "DELETE FROM accounts")
    assert counted(engine) == (0, 0)


def test_a_digest_in_the_mailbox_stands_for_itself_and_proves_that_it_came(engine: Engine) -> None:
    """One reminder stands for the message that it is about; this one is about several."""
    ids, mail = an_uncertain_digest(engine)
    original = an_original(message_id=mail.reminder_message_id, subject="4 reminders")
    with engine.begin() as connection:
        stored = inbox.store(connection, user_email=ANN, original=original)
        [row] = connection.execute(text("SELECT id, message_id, folder FROM messages")).all()
    assert (row.id, row.message_id, row.folder) == (stored.id, mail.reminder_message_id, "inbox")
    with engine.begin() as connection:
        policy = UncertainPolicy(hold=timedelta(hours=1), lookups=1)
        assert ledger.verify(connection, uncertainty=policy, batch_size=9) == [(ids[0], True)]
    wake(engine)
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["sent"] * 4


def counted(engine: Engine) -> tuple[int, int]:
    with engine.connect() as connection:
        digests, members = connection.execute(
            text("SELECT (SELECT count(*) FROM digests), (SELECT count(*) FROM digest_members)")
        ).one()
    return digests, members
