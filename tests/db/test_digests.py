"""More reminders than a person wants single mails for come in one, at the end of a rest: each in exactly one mail, also
where the digest is refused, silent, cancelled, or its person changes their mind."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from snoozer.delivery.claiming import Delivery
from snoozer.delivery.settling import Ending, settle
from snoozer.mail.links import Link
from snoozer.queue import digests, limits
from snoozer.queue.ledger import Refusal
from snoozer.queue.promise import ReminderTime
from snoozer.queue.reminder import DeliveryOutcome, Failure
from snoozer.snoozes import reminder_links
from snoozer.snoozes.acts import Pause
from tests import acting
from tests.acting import cancel, reschedule
from tests.db.days import CONFIG, choose, quiet, take, turn
from tests.db.digests import accept, answer, change, deferred, gathered, listed, outcomes, silent, wake
from tests.db.invariants import look
from tests.db.links import DAILY
from tests.db.operations import operate
from tests.db.transitions import a_fact, authorise
from tests.factories import ANN, HOUR, a_long_snooze, the_row, the_send
from tests.next_try import SECOND, set_next_try


def test_more_than_the_person_wants_come_in_one_mail_and_are_settled_by_it(engine: Engine) -> None:
    ids = deferred(engine, 4, note="call")
    delivery = gathered(engine)
    assert listed(delivery.send) == ids
    assert delivery.send is not None
    assert {one.note for one in delivery.send.members} == {"call"}
    accept(engine, [delivery])
    wake(engine)
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["sent"] * 4
    assert [the_send(engine, id).state for id in ids] == ["sent"] * 4
    assert [the_send(engine, id).resolution for id in ids] == [None, "digest", "digest", "digest"]
    assert look(engine) == {}


def test_as_many_as_the_person_wants_come_singly(engine: Engine) -> None:
    ids = deferred(engine, 3)
    assert turn(engine) == []
    wake(engine)
    deliveries = turn(engine)
    assert sorted(one.claim.id for one in deliveries) == ids
    assert [one.send.members for one in deliveries if one.send] == [()] * 3


def test_two_workers_gather_once(engine: Engine) -> None:
    ids = deferred(engine, 4)
    first = take(engine)
    assert [one.send for one in first] == [None] * 4
    with engine.begin() as one, engine.begin() as other:
        settle(one, [Ending(claim=first[0].claim, outcome=None)], config=CONFIG)
        settle(other, [Ending(claim=first[1].claim, outcome=None)], config=CONFIG)
    with engine.begin() as connection:
        settle(connection, [Ending(claim=one.claim, outcome=None) for one in first[2:]], config=CONFIG)
        assert connection.execute(text("SELECT count(*) FROM digests")).scalar_one() == 1
        assert connection.execute(text("SELECT count(*) FROM digest_members")).scalar_one() == 3
    wake(engine)
    [delivery] = turn(engine)
    assert listed(delivery.send) == ids


def test_a_digest_waits_for_a_row_that_is_being_claimed(engine: Engine) -> None:
    ids = deferred(engine, 5)
    held = take(engine)
    with engine.begin() as other:
        other.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR NO KEY UPDATE"), {"id": ids[4]})
        with engine.begin() as connection:
            settle(connection, [Ending(claim=one.claim, outcome=None) for one in held[:4]], config=CONFIG)
            assert connection.execute(text("SELECT count(*) FROM digests")).scalar_one() == 0
    with engine.begin() as connection:
        settle(connection, [Ending(claim=one.claim, outcome=None) for one in held[4:]], config=CONFIG)
    wake(engine)
    [delivery] = turn(engine)
    assert listed(delivery.send) == ids


def done(connection: Connection, id: int, promise: datetime) -> bool:
    link = Link(snooze_id=id, scheduled_for=promise)
    occurrence = reminder_links.find(connection, link=link, acting=True)
    assert occurrence is not None
    return reminder_links.done(connection, occurrence=occurrence, route="link")


def snoozed_anew(connection: Connection, id: int, promise: datetime) -> bool:
    later = ReminderTime(remind_at=promise + HOUR)
    return reschedule(connection, id, later)


CHANGES: dict[str, tuple[Callable[[Connection, int, datetime], bool], str | None]] = {
    "cancelled": (lambda connection, id, _: cancel(connection, id), "cancelled"),
    "done": (done, "cancelled"),
    "paused": (
        lambda connection, id, _: acting.done(connection, id, Pause()),
        None,
    ),
    "snoozed anew": (snoozed_anew, None),
}


@pytest.mark.parametrize("change_of", CHANGES)
def test_a_member_that_its_person_changes_before_it_is_written_is_not_in_it(engine: Engine, change_of: str) -> None:
    act, outcome = CHANGES[change_of]
    ids = deferred(engine, 4)
    assert turn(engine) == []
    promise = the_row(engine, ids[2]).scheduled_for
    with engine.begin() as connection:
        assert act(connection, ids[2], promise)
    set_next_try(engine, -SECOND, "id = :id", id=ids[0])
    [delivery] = turn(engine)
    assert listed(delivery.send) == [ids[0], ids[1], ids[3]]
    accept(engine, [delivery])
    set_next_try(engine, -SECOND, "id <> :id", id=ids[2])
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["sent", "sent", outcome, "sent"]
    assert look(engine) == {}


def test_thousands_that_waited_are_gathered_at_once(engine: Engine) -> None:
    """Pair by pair it took longer than a statement may, at each try, and nothing of that person was ever sent. So it
    did by statistics of an empty ledger, by which the whole of it was read for each row."""
    deferred(engine, 1)
    enter = (
        "INSERT INTO reminder_sends (snooze_id, user_email, message_id, scheduled_for, channel, bucket, "
        "reminder_message_id, state, claim_token, zone, reserved_at) "
        "SELECT id, user_email, '<entered-' || n || '@mail.example>', scheduled_for, 'email', bucket, "
        "'<reminder-' || n || '@x.example>', 'failed', gen_random_uuid(), 'UTC', now() "
        "FROM email_snoozes, generate_series(1, 1000) AS n"
    )
    for statement in (enter, "DELETE FROM reminder_sends", "ANALYZE reminder_sends", enter):
        change(engine, statement)
    change(
        engine,
        "INSERT INTO email_snoozes (user_email, message_id, remind_at, scheduled_for, deferred_until, deferred_by) "
        "SELECT user_email, '<waited-' || n || '@mail.example>', remind_at, scheduled_for, deferred_until, deferred_by "
        "FROM email_snoozes, generate_series(1, 20000) AS n",
    )
    with engine.begin() as connection:
        digests.gather(connection, people=[ANN], domain="x.example")
        members = connection.execute(text("SELECT count(*) FROM digest_members")).scalar_one()
        read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'reminder_sends'"
        entries_read = connection.execute(text(read)).scalar_one()
    assert entries_read < 100_000
    assert members == limits.MAX_GATHERED - limits.MAX_GATHERED // limits.MAX_DIGEST_SIZE


def test_a_member_that_is_cancelled_later_stays_cancelled(engine: Engine) -> None:
    ids = deferred(engine, 4)
    delivery = gathered(engine)
    assert delivery.send is not None
    assert authorise(engine, delivery.send)
    with engine.begin() as connection:
        cancel(connection, ids[2])
    answer(engine, [delivery])
    wake(engine)
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["sent", "sent", "cancelled", "sent"]
    assert the_send(engine, ids[2]).state == "failed"


def test_after_silence_the_copy_lists_the_same_and_no_member_comes_singly(engine: Engine) -> None:
    ids = deferred(engine, 4)
    delivery = gathered(engine)
    silent(engine, delivery)
    with engine.begin() as connection:
        cancel(connection, ids[2])
    change(engine, "UPDATE digests SET gathered_at = now() - INTERVAL '2 days'")
    wake(engine)
    assert turn(engine) == []
    change(engine, "UPDATE reminder_sends SET uncertain_at = now() - INTERVAL '2 hours' WHERE state = 'uncertain'")
    wake(engine)
    [copy] = turn(engine)
    assert copy.send is not None
    assert delivery.send is not None
    assert copy.send.members == delivery.send.members
    assert copy.send.reminder_message_id == delivery.send.reminder_message_id
    accept(engine, [copy])
    wake(engine)
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["sent", "sent", "cancelled", "sent"]


def refuse(engine: Engine, delivery: Delivery, *, permanent: bool) -> None:
    assert delivery.send is not None
    failure = Failure(
        id=delivery.claim.id,
        claim_token=delivery.claim.claim_token,
        error="x",
        attempts_used=1,
        delay=timedelta(0),
        permanent=permanent,
    )
    refusal = Refusal(send=delivery.send, smtp_code=550, reply="5.1.1 no", of_recipient=True)
    ending = Ending(claim=delivery.claim, outcome=DeliveryOutcome.RELEASED, refusal=refusal, failure=failure)
    with engine.begin() as connection:
        settle(connection, [ending], config=CONFIG)


def singly(engine: Engine) -> list[int]:
    """Members ask, and come at the next claim."""
    wake(engine)
    assert turn(engine) == []
    wake(engine)
    deliveries = turn(engine)
    assert [one.send.members for one in deliveries if one.send] == [()] * len(deliveries)
    return sorted(one.claim.id for one in deliveries)


def test_a_digest_that_is_refused_for_good_is_dissolved(engine: Engine) -> None:
    ids = deferred(engine, 4)
    refuse(engine, gathered(engine), permanent=True)
    assert singly(engine) == ids[1:]


def test_a_digest_that_is_refused_for_now_is_tried_again_and_dissolved_after_the_hold(engine: Engine) -> None:
    ids = deferred(engine, 4)
    refuse(engine, gathered(engine), permanent=False)
    wake(engine)
    [again] = turn(engine)
    assert listed(again.send) == ids
    refuse(engine, again, permanent=False)
    change(engine, "UPDATE digests SET gathered_at = now() - INTERVAL '31 minutes'")
    set_next_try(engine, 60 * SECOND, "id = :id", id=ids[0])
    set_next_try(engine, -SECOND, "id <> :id", id=ids[0])
    assert turn(engine) == []
    wake(engine)
    assert sorted(one.claim.id for one in turn(engine)) == ids


def test_a_digest_that_a_worker_has_written_is_not_dissolved(engine: Engine) -> None:
    ids = deferred(engine, 4)
    delivery = gathered(engine)
    change(engine, "UPDATE digests SET gathered_at = now() - INTERVAL '1 hour'")
    wake(engine)
    assert turn(engine) == []
    accept(engine, [delivery])
    wake(engine)
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["sent"] * 4


@pytest.mark.parametrize("is_claimed", [True, False])
def test_who_wants_single_mails_again_gets_what_is_not_under_way_singly(engine: Engine, is_claimed: bool) -> None:
    ids = deferred(engine, 4)
    if is_claimed:
        delivery = gathered(engine)
    else:
        assert turn(engine) == []
    choose(engine, replace(quiet(), quiet_from=None, quiet_until=None))
    if is_claimed:
        wake(engine)
        assert turn(engine) == []
        accept(engine, [delivery])
        wake(engine)
        assert turn(engine) == []
        assert outcomes(engine, ids) == ["sent"] * 4
    else:
        wake(engine)
        [delivery] = turn(engine)
        assert listed(delivery.send) == ids


def test_when_its_first_promise_is_cancelled_the_others_come_singly(engine: Engine) -> None:
    ids = deferred(engine, 4)
    assert turn(engine) == []
    with engine.begin() as connection:
        cancel(connection, ids[0])
    assert singly(engine) == ids[1:]


def test_when_its_first_promise_is_cancelled_in_flight_the_reply_settles_all(engine: Engine) -> None:
    ids = deferred(engine, 4)
    delivery = gathered(engine)
    assert delivery.send is not None
    assert authorise(engine, delivery.send)
    with engine.begin() as connection:
        cancel(connection, ids[0])
    wake(engine)
    assert turn(engine) == []
    with engine.begin() as connection:
        ending = Ending(claim=delivery.claim, outcome=DeliveryOutcome.SENT, fact=a_fact(delivery.send))
        settle(connection, [ending], config=CONFIG)
    wake(engine)
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["cancelled", "sent", "sent", "sent"]


def test_a_recurring_member_goes_on(engine: Engine) -> None:
    ids = deferred(engine, 4, recurrence=DAILY, zone="UTC")
    promise = the_row(engine, ids[1]).scheduled_for
    accept(engine, [gathered(engine)])
    set_next_try(engine, -SECOND, "scheduled_for IS NOT NULL AND claimed_at IS NULL")
    assert turn(engine) == []
    row = the_row(engine, ids[1])
    assert (row.outcome, row.inactive) == (None, False)
    assert row.remind_at > promise
    assert the_send(engine, ids[1]).state == "sent"


def test_members_of_a_digest_without_an_answer_are_cases_and_come_singly_when_reactivated(engine: Engine) -> None:
    ids = deferred(engine, 4)
    silent(engine, gathered(engine))
    change(
        engine,
        "UPDATE reminder_sends SET resends = 2, uncertain_at = now() - INTERVAL '2 hours' WHERE state = 'uncertain'",
    )
    wake(engine)
    assert turn(engine) == []
    assert outcomes(engine, ids) == ["retired"] * 4
    with engine.begin() as connection:
        operate(connection, "reactivate", ids[1:])
    wake(engine)
    assert sorted(one.claim.id for one in turn(engine)) == ids[1:]


def test_a_row_that_the_ledger_refuses_keeps_no_reminder_of_its_person_back(engine: Engine) -> None:
    ids = deferred(engine, 3)
    bad = a_long_snooze(engine)
    change(
        engine,
        "UPDATE email_snoozes SET deferred_until = now() - INTERVAL '1 second', deferred_by = 'quiet', "
        "scheduled_for = now() WHERE id = :id",
        id=bad,
    )
    assert turn(engine) == []
    wake(engine)
    found = {one.claim.id: one for one in take(engine)}
    assert [found[id].send is not None for id in ids] == [True] * 3
    refused = found[bad].send
    assert refused is not None
    with pytest.raises(DBAPIError):
        authorise(engine, refused)


def test_rows_under_another_spelling_of_the_address_come_singly(engine: Engine) -> None:
    ids = deferred(engine, 4)
    change(engine, "UPDATE email_snoozes SET user_email = 'Ann' || substr(user_email, 4)")
    assert turn(engine) == []
    wake(engine)
    assert sorted(one.claim.id for one in turn(engine)) == ids


def test_more_than_a_digest_holds_come_in_several(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "MAX_DIGEST_SIZE", 3)
    ids = deferred(engine, 7)
    assert turn(engine) == []
    wake(engine)
    assert sorted(listed(one.send) for one in turn(engine)) == [ids[:3], ids[3:6], ids[6:]]


def test_a_time_that_a_person_takes_anyway_comes_singly(engine: Engine) -> None:
    ids = deferred(engine, 4)
    change(engine, "UPDATE email_snoozes SET at_any_hour = TRUE WHERE id = :id", id=ids[0])
    assert [one.claim.id for one in turn(engine)] == [ids[0]]
    wake(engine)
    assert sorted(one.claim.id for one in turn(engine)) == ids[1:]


def test_members_of_a_digest_whose_first_promise_is_archived_come_singly(engine: Engine) -> None:
    ids = deferred(engine, 4)
    assert turn(engine) == []
    change(engine, "DELETE FROM reminder_sends WHERE snooze_id = :id", id=ids[0])
    change(engine, "DELETE FROM email_snoozes WHERE id = :id", id=ids[0])
    wake(engine)
    assert sorted(one.claim.id for one in turn(engine)) == ids[1:]
