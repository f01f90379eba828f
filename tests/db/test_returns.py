"""A kept message is back in the inbox at its time, once for each promise, whatever becomes of its reminder."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db import mailbox_store
from snoozer.db.engine import autocommit
from snoozer.delivery.chores.chores import Retention, archive
from snoozer.delivery.chores.returns import return_due, side_work
from snoozer.delivery.settling import finish
from snoozer.queue import queue
from snoozer.queue.promise import ReminderTime
from snoozer.snoozes.acts import Act, Annotate, Move
from tests import acting
from tests.db.links import DAILY
from tests.db.operations import operate
from tests.db.transitions import claim, finalize, release
from tests.factories import ANN, HOUR, People, a_kept_message, a_mailbox, a_snooze, now, the_row

MESSAGE = "<kept@mail.example>"
KEEP = Retention(archive_after=timedelta(days=35), keep_months=24)


def away(engine: Engine, **columns: Any) -> tuple[int, int]:
    """A read message in the folder of what is snoozed, below another one, and its snooze; returns both ids."""
    kept = a_kept_message(engine, message_id=MESSAGE)
    a_kept_message(engine)
    id = a_snooze(engine, message_id=MESSAGE, **columns)
    with engine.begin() as connection:
        assert mailbox_store.move(connection, user_email=ANN, message_id=MESSAGE, folder="snoozed")
        assert mailbox_store.mark(connection, id=kept, user_email=ANN, unread=False)
    return kept, id


def is_back(engine: Engine, kept: int) -> bool:
    """Is the message unread on top of the inbox?"""
    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT id, unread, returned FROM messages WHERE folder = 'inbox' ORDER BY surfaced_at DESC")
        ).first()
    return found == (kept, True, True)


def returns(engine: Engine, id: int) -> list[object]:
    """The promises of a snooze for which its message returned, by the ledger."""
    with engine.connect() as connection:
        rows = connection.execute(
            text(
                "SELECT scheduled_for FROM reminder_sends "
                "WHERE snooze_id = :id AND channel = 'mailbox' AND state = 'sent' ORDER BY id"
            ),
            {"id": id},
        )
        return list(rows.scalars())


def change(engine: Engine, act: str, **values: Any) -> None:
    with engine.begin() as connection:
        connection.execute(text(act), values)


def test_a_message_is_back_at_its_time_before_its_reminder_is_sent(engine: Engine) -> None:
    """It stayed in the folder of what is snoozed for as long as the mail server was away."""
    kept, id = away(engine)
    assert return_due(engine) == [id]
    assert is_back(engine, kept)
    row = the_row(engine, id)
    assert (row.inactive, row.attempts) == (False, 0)
    assert returns(engine, id) == [row.remind_at]


@pytest.mark.parametrize("refused", [False, True], ids=["sent before", "refused for good"])
def test_a_message_is_back_whatever_became_of_its_reminder(engine: Engine, refused: bool) -> None:
    kept, id = away(engine)
    [held] = claim(engine)
    assert release(engine, held, permanent=True) == "retired" if refused else finalize(engine, held)
    assert return_due(engine) == [id]
    assert is_back(engine, kept)


def test_a_message_is_not_back_before_its_time(engine: Engine) -> None:
    kept, _ = away(engine, remind_at=now() + HOUR)
    assert return_due(engine) == []
    assert not is_back(engine, kept)
    with engine.connect() as connection:
        assert 3500 < side_work(connection).returns_in <= 3600


def test_a_message_returns_once_for_a_promise(engine: Engine) -> None:
    """The person read it and was done with it; a retry, an operator or an undone cancellation brought it back."""
    kept, id = away(engine)
    return_due(engine)
    [held] = claim(engine)
    release(engine, held, permanent=True)
    with engine.begin() as connection:
        mailbox_store.move(connection, user_email=ANN, message_id=MESSAGE, folder="done")
        assert operate(connection, "reactivate", [id]) == [id]
        assert acting.cancel(connection, id)
        assert acting.undo(connection, id)
    assert return_due(engine) == []
    assert not is_back(engine, kept)
    assert len(returns(engine, id)) == 1


def test_a_process_that_is_lost_in_the_middle_repeats_nothing(engine: Engine) -> None:
    kept, id = away(engine)
    with engine.connect() as lost:
        assert mailbox_store.return_due(lost, batch_size=10) == [id]
        lost.invalidate()
    with engine.begin() as connection:  # Waits until the server has noticed.
        connection.execute(text("SELECT 1 FROM messages FOR UPDATE"))
    assert return_due(engine) == [id]
    assert is_back(engine, kept)
    assert len(returns(engine, id)) == 1


MOVED = "UPDATE email_snoozes SET remind_at = now() + INTERVAL '1 day', scheduled_for = NULL"
PAUSED = "UPDATE email_snoozes SET inactive = TRUE"
CANCELLED = "UPDATE email_snoozes SET inactive = TRUE, outcome = 'cancelled', finished_at = now()"


@pytest.mark.parametrize("act", [MOVED, PAUSED, CANCELLED])
def test_a_message_does_not_return_at_a_time_that_was_given_up(engine: Engine, act: str) -> None:
    kept, _ = away(engine)
    change(engine, act)
    assert return_due(engine) == []
    assert not is_back(engine, kept)


DELETED = "DELETE FROM email_snoozes"


@pytest.mark.parametrize("act", [CANCELLED, DELETED])
def test_a_message_is_in_the_inbox_again_when_another_programs_sql_ends_its_snooze(engine: Engine, act: str) -> None:
    """It stayed in the folder of what is snoozed, where nothing brought it back; after a DELETE every page called it
    late, without end."""
    kept, _ = away(engine, remind_at=now() + HOUR)
    change(engine, act)
    with engine.connect() as connection:
        found = connection.execute(
            text("SELECT folder, unread, returned, returns_at FROM messages WHERE id = :id"), {"id": kept}
        ).one()
        assert found == ("inbox", False, False, None)
        assert side_work(connection).returns_in == float("inf")


def test_a_program_that_may_only_insert_snoozes_reads_no_mail_and_is_not_refused(engine: Engine) -> None:
    """Its own role had no right to the tables that the return is kept in."""
    kept = a_kept_message(engine, message_id=MESSAGE)
    insert = "INSERT INTO email_snoozes (user_email, message_id, remind_at) VALUES (:ann, :message, now())"
    with engine.connect() as connection, connection.begin() as all_of_it:
        connection.execute(text("CREATE ROLE producer"))
        connection.execute(text("GRANT INSERT ON email_snoozes TO producer"))
        connection.execute(text("GRANT USAGE ON SEQUENCE email_snoozes_id_seq TO producer"))
        connection.execute(text("SET LOCAL ROLE producer"))
        connection.execute(text("CREATE TEMPORARY TABLE messages (user_email TEXT, message_id TEXT)"))
        connection.execute(text(insert), {"ann": ANN, "message": MESSAGE})
        connection.execute(text("RESET ROLE"))
        returns_at = text("SELECT returns_at IS NOT NULL FROM public.messages WHERE id = :id")
        assert connection.execute(returns_at, {"id": kept}).scalar_one()
        all_of_it.rollback()


def test_a_message_does_not_return_while_its_snooze_is_being_cancelled(engine: Engine) -> None:
    away(engine)
    with autocommit(engine) as returning, engine.begin() as person:
        person.execute(text(CANCELLED))
        returning.execute(text("SET statement_timeout = '20s'"))
        assert mailbox_store.return_due(returning, batch_size=10) == []
        returning.invalidate()
    assert return_due(engine) == []


def test_a_forgotten_lock_on_one_snooze_keeps_no_other_message(engine: Engine) -> None:
    first = a_snooze(engine, message_id="<1@mail.example>")
    second = a_snooze(engine, message_id="<2@mail.example>")
    for number in (1, 2):
        a_kept_message(engine, message_id=f"<{number}@mail.example>")
    with engine.begin() as operator:
        operator.execute(text("SELECT 1 FROM email_snoozes WHERE id = :id FOR UPDATE"), {"id": first})
        assert return_due(engine) == [second]
    assert return_due(engine) == [first]


def test_a_cancellation_that_is_undone_puts_no_message_away_for_good(engine: Engine) -> None:
    """Its time had passed and it had returned, so nothing would have brought it back."""
    kept, id = away(engine)
    return_due(engine)
    with engine.begin() as connection:
        assert acting.cancel(connection, id)
        assert acting.undo(connection, id)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT folder FROM messages WHERE id = :id"), {"id": kept}).scalar() == (
            "inbox"
        )


def test_a_message_returns_at_each_occurrence(engine: Engine) -> None:
    kept, id = away(engine, recurrence=DAILY, zone="UTC")
    for _ in range(2):
        [held] = claim(engine)
        with engine.begin() as connection:
            assert finish(connection, [held]) == {id}
        assert is_back(engine, kept)
        change(engine, "UPDATE messages SET folder = 'done', unread = FALSE")
        change(engine, "UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 minute'")
    assert len(returns(engine, id)) == 2


def test_the_next_occurrence_is_promised_once_the_message_of_this_one_is_back(engine: Engine) -> None:
    away(engine, recurrence=DAILY)
    [held] = claim(engine)
    with engine.begin() as connection:
        assert queue.schedule_next(connection, occurrences=[(held, now() + HOUR)]) == set()
    return_due(engine)
    with engine.begin() as connection:
        assert queue.schedule_next(connection, occurrences=[(held, now() + HOUR)]) == {held.id}


def test_a_message_that_is_kept_after_it_was_snoozed_returns_too(engine: Engine) -> None:
    id = a_snooze(engine, message_id=MESSAGE, remind_at=now() + HOUR)
    kept = a_kept_message(engine, message_id=MESSAGE)
    change(engine, "UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 minute'")
    a_kept_message(engine)
    assert return_due(engine) == [id]
    assert is_back(engine, kept)


def test_another_programs_change_of_the_time_moves_the_return(engine: Engine) -> None:
    kept, id = away(engine, remind_at=now() + HOUR)
    change(engine, "UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 minute' WHERE id = :id", id=id)
    assert return_due(engine) == [id]
    assert is_back(engine, kept)


def test_a_snooze_without_a_kept_message_has_no_return(engine: Engine) -> None:
    id = a_snooze(engine)
    assert return_due(engine) == []
    assert returns(engine, id) == []


def test_the_bulk_of_due_messages_returns_in_batches(engine: Engine) -> None:
    change(
        engine,
        "INSERT INTO messages (user_email, message_id, size, sha256, folder, unread, returned, surfaced_at) "
        "SELECT :ann, '<' || n || '@mail.example>', 0, n, 'snoozed', TRUE, FALSE, now() "
        "FROM generate_series(1, 1200) AS n",
        ann=ANN,
    )
    change(
        engine,
        "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
        "SELECT :ann, '<' || n || '@mail.example>', now() FROM generate_series(1, 1200) AS n",
        ann=ANN,
    )
    assert len(set(return_due(engine))) == 1200
    with engine.connect() as connection:
        assert side_work(connection).returns_in == float("inf")


def test_a_finished_snooze_is_not_archived_before_its_message_is_back(engine: Engine) -> None:
    kept, id = away(engine)
    [held] = claim(engine)
    finalize(engine, held)
    change(engine, "UPDATE email_snoozes SET finished_at = now() - INTERVAL '40 days'")
    assert archive(engine, config=KEEP) == 0
    assert return_due(engine) == [id]
    assert is_back(engine, kept)
    assert archive(engine, config=KEEP) == 1


def _folders(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT message_id, folder FROM messages"))
        return {row.message_id: row.folder for row in rows}


@pytest.mark.parametrize(
    ("what", "folder"),
    [(Move(time=ReminderTime(remind_at=now() + 24 * HOUR)), "snoozed"), (Annotate(note="call first"), "inbox")],
    ids=["time", "note"],
)
def test_a_message_that_is_back_is_put_away_again_with_a_new_time_alone(engine: Engine, what: Act, folder: str) -> None:
    """While its reminder was tried again it was asleep until tomorrow by its snooze's page, and in the inbox."""
    _, id = away(engine)
    return_due(engine)
    with engine.begin() as connection:
        assert acting.done(connection, id, what)
    assert _folders(engine)[MESSAGE] == folder


def test_a_message_that_is_back_stays_when_the_next_occurrence_is_moved(engine: Engine) -> None:
    away(engine, recurrence=DAILY)
    [held] = claim(engine)
    with engine.begin() as connection:
        assert finish(connection, [held]) == {held.id}
        later = ReminderTime(remind_at=now() + 2 * HOUR)
        assert acting.reschedule(connection, held.id, later)
    assert _folders(engine)[MESSAGE] == "inbox"


def test_an_edit_moves_the_return_to_the_new_time(engine: Engine) -> None:
    kept, id = away(engine)
    with engine.begin() as connection:
        later = ReminderTime(remind_at=now() + HOUR)
        assert acting.reschedule(connection, id, later)
    assert return_due(engine) == []
    change(engine, "UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 second'")
    assert return_due(engine) == [id]
    assert is_back(engine, kept)


def test_a_conversation_of_the_release_before_returns_with_its_snooze(engine: Engine, people: People) -> None:
    """Its mailbox process may still run, and names the snooze in another column."""
    people.ann()
    mailbox, snooze = a_mailbox(engine), a_snooze(engine, message_id="<newest@x>", remind_at=now() + HOUR)
    entered = text(
        "INSERT INTO messages (mailbox_id, user_email, message_id, fingerprint, size, internal_date, home, place, "
        "wanted, folder, uidvalidity, uid, snoozed_with) VALUES (:mailbox, :ann, '<older@x>', 'f', 1, now(), 'INBOX', "
        "'home', 'snoozed', 'INBOX', 1, 1, :snooze) RETURNING snooze_id, returns_at"
    )
    with engine.begin() as connection:
        message = connection.execute(entered, {"mailbox": mailbox, "ann": ANN, "snooze": snooze}).one()
    assert message.snooze_id == snooze
    assert message.returns_at == the_row(engine, snooze).remind_at
