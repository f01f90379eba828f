"""The one write before the dot: it is made for what is still wanted as it was claimed, and once."""

from datetime import timedelta
from threading import Thread

import pytest
from sqlalchemy import Engine, text

from snoozer.queue import digests, ledger, queue
from snoozer.queue.reminder import UncertainPolicy
from snoozer.snoozes.acts import Act, Cancel, Pause
from tests import acting
from tests.acting import cancel
from tests.db.days import turn
from tests.db.digests import accept, change, deferred, gathered, listed
from tests.db.transitions import LEASE, SHA, a_held_mail, authorise, claim, lapse, recovered, sendable
from tests.factories import ANN, a_snooze, the_row, the_send, wait_until_a_session_waits
from tests.next_try import SECOND, set_next_try

TWO_LOOKS = UncertainPolicy(hold=timedelta(0), lookups=2)


def test_no_dot_is_authorised_twice(engine: Engine) -> None:
    _, send = a_held_mail(engine)
    assert authorise(engine, send) is True
    assert authorise(engine, send) is False


def test_a_claim_writes_nothing_to_the_ledger(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    assert the_send(engine, held.id) is None
    assert authorise(engine, send)
    entry = the_send(engine, held.id)
    assert (entry.state, entry.claim_token, entry.bytes_sha256) == ("sending", held.claim_token, SHA)
    assert entry.reminder_message_id == send.reminder_message_id


def test_a_row_that_changed_since_its_claim_gets_no_dot(engine: Engine) -> None:
    """A note that is written while the body is sent is in the next mail, and this one is dropped."""
    held, send = a_held_mail(engine)
    row = the_row(engine, held.id)
    assert row.updated_at == row.claimed_at == held.claimed_at
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET note = 'Ask.', updated_at = clock_timestamp()"))
        assert queue.owned(connection, held=queue.held([held])) == {held.id}
    assert authorise(engine, send) is False
    with engine.begin() as connection:
        queue.unclaim(connection, held=queue.held([held]))
    [again] = claim(engine)
    [entry] = sendable(engine, again)
    assert entry.note == "Ask."
    assert authorise(engine, entry)


def test_a_note_that_a_program_writes_meanwhile_changes_no_copy(engine: Engine) -> None:
    """Its statement does not say that it changed the row. The ledger has what the first copy was composed of."""
    held, send = a_held_mail(engine, note="Ask.")
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET note = 'Tell.'"))
    assert authorise(engine, send)
    [entry] = sendable(engine, recovered(engine, held), hold=timedelta(0))
    assert entry.note == send.note == "Ask."


def test_a_pause_that_begins_while_the_body_is_sent_gets_no_dot(engine: Engine) -> None:
    _, send = a_held_mail(engine)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO pauses (kind, actor, reason) VALUES ('all', 'operator:1', 'x')"))
    assert authorise(engine, send) is False
    with engine.begin() as connection:
        connection.execute(text("UPDATE pauses SET ended_at = now(), ended_by = 'operator:1'"))
    assert authorise(engine, send)


def test_an_entry_that_was_made_meanwhile_gets_no_dot(engine: Engine) -> None:
    """The key of the ledger decides, also if the other transaction commits after this statement has begun."""
    held, send = a_held_mail(engine)
    found: list[bool] = []
    with engine.begin() as other:
        other.execute(
            text(
                "INSERT INTO reminder_sends (snooze_id, user_email, message_id, scheduled_for, bucket, "
                "reminder_message_id, state, claim_token, zone, reserved_at) "
                "SELECT id, user_email, message_id, scheduled_for, bucket, '<other@snoozer.example>', 'failed', "
                "gen_random_uuid(), 'UTC', now() FROM email_snoozes"
            )
        )
        late = Thread(target=lambda: found.append(authorise(engine, send)))
        late.start()
        wait_until_a_session_waits(engine, who=late)
    late.join()
    assert found == [False]
    assert the_send(engine, held.id).state == "failed"


def test_a_copy_of_other_bytes_gets_no_dot(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    assert authorise(engine, send)
    [entry] = sendable(engine, recovered(engine, held), hold=timedelta(0))
    assert entry.bytes_sha256 == SHA
    assert authorise(engine, entry, sha="1" * 64) is False
    assert authorise(engine, entry)


def test_a_worker_whose_claim_was_taken_authorises_nothing(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    recovered(engine, held)
    assert authorise(engine, send) is False


def test_a_worker_whose_lease_ran_out_authorises_nothing(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    lapse(engine, [held.id])
    assert authorise(engine, send) is False


def test_done_pressed_a_moment_before_the_dot_wins(engine: Engine) -> None:
    held, send = a_held_mail(engine)
    with engine.begin() as connection:
        cancel(connection, held.id)
    assert authorise(engine, send) is False


def test_a_cancellation_under_way_gets_no_dot(engine: Engine) -> None:
    """Without its lock the mark would read the row as it was before the cancellation committed."""
    held, send = a_held_mail(engine)
    with engine.begin() as connection:
        cancel(connection, held.id)
        assert authorise(engine, send) is False
    assert authorise(engine, send) is False


def test_a_mark_waits_for_the_disk_and_a_claim_does_not(engine: Engine) -> None:
    """A claim that is lost with the server authorises nothing; without its mark a mail would have left unrecorded."""
    setting = text("SHOW synchronous_commit")
    a_snooze(engine)
    with engine.begin() as connection:
        [held] = queue.claim(connection, worker="w", batch_size=9, lease=LEASE)
        assert connection.execute(setting).scalar_one() == "off"
    [entry] = sendable(engine, held)
    with engine.begin() as connection:
        assert ledger.authorise(connection, dots=[(entry, SHA)], uncertainty=TWO_LOOKS)
        assert connection.execute(setting).scalar_one() == "on"


@pytest.mark.parametrize("act", [Cancel(), Pause()], ids=["cancelled", "paused"])
def test_a_digest_that_lists_what_its_person_changed_gets_no_dot(engine: Engine, act: Act) -> None:
    """All of its promises are authorised, or none: the mail is composed again without the promise that changed."""
    ids = deferred(engine, 4)
    delivery = gathered(engine)
    assert delivery.send is not None
    with engine.begin() as connection:
        assert acting.done(connection, ids[2], act)
    assert not authorise(engine, delivery.send)
    with engine.begin() as connection:
        queue.unclaim(connection, held=queue.held([delivery.claim]))
    set_next_try(engine, -SECOND, "id = :id", id=ids[0])
    [again] = turn(engine)
    assert listed(again.send) == [ids[0], ids[1], ids[3]]
    accept(engine, [again])
    assert the_row(engine, ids[0]).outcome == "sent"


def test_a_single_mail_that_was_composed_before_its_promise_was_gathered_gets_no_dot(engine: Engine) -> None:
    ids = deferred(engine, 5)
    change(engine, "UPDATE day_shapes SET gathers_over = NULL")
    singles = [one.send for one in turn(engine) if one.send is not None]
    assert sorted(send.snooze_id for send in singles) == ids
    change(engine, "UPDATE day_shapes SET gathers_over = 3, gathered_until = gathered_until - INTERVAL '1 day'")
    with engine.begin() as connection:
        digests.gather(connection, people=[ANN], domain="snoozer.example")
    assert [authorise(engine, send) for send in singles] == [False] * 5
