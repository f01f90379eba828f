"""Importing: the same snoozes, repeats and history as in the export; nothing that a hostile file says is believed."""

import json
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.db.models import Account
from snoozer.db.queries import imports as queries
from snoozer.delivery.chores import chores
from snoozer.people import accounts
from snoozer.people.limits import Limits
from snoozer.people.personal_data import importing
from snoozer.people.personal_data.files import FILES
from snoozer.people.personal_data.importing import Imported
from snoozer.people.quotas import QuotaReached
from snoozer.queue.promise import EXPORTED
from snoozer.settings import Settings
from tests.choices import VALUES
from tests.db.archived import RETENTION, finished, partitions, sent
from tests.db.transitions import claim
from tests.export_files import DAY, WEEKLY, a_file, a_record, read_bytes
from tests.factories import ANN, HOUR, People, a_kept_message, a_snooze, asked_for, now

BOB = "bob@snoozer.example"
CHOICES = {name: VALUES[name] for name in EXPORTED}


@pytest.fixture
def limits(settings: Settings) -> Limits:
    return settings.limits


def the_account(engine: Engine, email: str = ANN) -> Account:
    with engine.connect() as connection:
        account = accounts.find(connection, email=email)
    assert account is not None
    return account


def exported(engine: Engine, ending: str = "json", email: str = ANN) -> bytes:
    return b"".join(FILES[ending].write(engine, the_account(engine, email), now()))


def imported(
    engine: Engine, limits: Limits, content: bytes, *, email: str = ANN, with_past: bool = True
) -> Imported | None:
    account = the_account(engine, email)
    with engine.begin() as connection:
        importing.stage(connection, account=account, reading=read_bytes(content))
    with engine.begin() as connection:
        return importing.confirm(connection, account=account, limits=limits, with_past=with_past)


def contents(content: bytes) -> list[Any]:
    """What an export says of snoozes and kept promises, without the numbers of this Snoozer."""
    records = json.loads(content)
    message = {record["id"]: record["message_id"] for record in records if record["type"] == "snooze"}
    numbers = {"id", "last_error", "reply_since", "snooze_duration_hours", "mailbox", "origin_folder"}
    snoozes = [
        {name: value for name, value in record.items() if name not in numbers}
        for record in records
        if record["type"] == "snooze"
    ]
    sends = [
        (message[record["snooze"]], record["promised"], record["sent_at"])
        for record in records
        if record["type"] == "send"
    ]
    return sorted(snoozes, key=lambda snooze: str(snooze["message_id"])) + sorted(sends)


def test_a_fresh_place_has_the_same_snoozes_repeats_and_history(engine: Engine, people: People, limits: Limits) -> None:
    ann = people.ann()
    sent(engine, age=40 * DAY)
    sent(engine, age=2 * DAY)
    asked_for(engine, "every monday 9am", subject="Repeats", note="each week")
    asked_for(engine, "in 3 days", subject="Wall")
    a_snooze(engine, subject="Waits", remind_at=now() + DAY, **CHOICES)
    a_snooze(engine, subject="Paused", inactive=True, remind_at=now() + DAY)
    finished(engine, outcome="cancelled", at=now() - DAY, **CHOICES)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO account_presets VALUES (:id, 1, 'Soon', 'in 1 hour')"), {"id": ann.id})
    chores.archive(engine, config=RETENTION)
    before = exported(engine)
    assert sum(CHOICES.items() <= record.items() for record in json.loads(before)) == 2
    with engine.begin() as connection:
        connection.execute(
            text(
                "TRUNCATE email_snoozes, email_snoozes_archive, reminder_sends_archive, snooze_events, accounts CASCADE"
            )
        )
    people.ann()
    done = imported(engine, limits, before)
    assert done == Imported(waiting=4, finished=3, presets=True)
    assert contents(exported(engine)) == contents(before)
    with engine.connect() as connection:
        kinds = connection.execute(text("SELECT DISTINCT kind FROM snooze_events")).scalars().all()
        wrong = connection.execute(text("SELECT count(*) FROM invariant_finished_has_its_send")).scalar_one()
    assert (kinds, wrong) == (["imported"], 0)


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_what_is_imported_twice_is_there_once(engine: Engine, people: People, limits: Limits, ending: str) -> None:
    people.ann()
    people.ann(BOB)
    sent(engine, age=DAY)
    asked_for(engine, "every monday 9am", subject="=SUM()", note="'quoted")
    a_snooze(engine, remind_at=now() - HOUR, **CHOICES)
    finished(engine, outcome="cancelled", at=now() - 3 * DAY)
    content = exported(engine, ending)
    assert imported(engine, limits, content, email=BOB) == Imported(waiting=2, finished=2, presets=False)
    after = contents(exported(engine, email=BOB))
    for with_past in (True, False):
        done = imported(engine, limits, content, email=BOB, with_past=with_past)
        assert done == Imported(waiting=0, finished=0, presets=False)
    assert contents(exported(engine, email=BOB)) == after
    assert imported(engine, limits, content) == Imported(waiting=0, finished=0, presets=False)
    assert {row["subject"] for row in after if isinstance(row, dict)} >= {"=SUM()"}
    assert sum(isinstance(row, dict) and CHOICES.items() <= row.items() for row in after) == 1


def test_a_file_of_many_pages_is_enqueued_whole(
    engine: Engine, people: People, limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.ann()
    monkeypatch.setattr(importing, "PAGE_SIZE", 2)
    states = ["waiting", "paused", "waiting", "paused", "waiting"]
    records = [a_record(message_id=f"<{number}@x>", state=state) for number, state in enumerate(states)]
    done = imported(engine, limits, a_file(*records))
    assert done == Imported(waiting=5, finished=0, presets=False)
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT inactive FROM email_snoozes ORDER BY message_id")).scalars().all()
    assert rows == [state == "paused" for state in states]


def test_a_file_that_an_older_release_read_keeps_what_was_chosen(
    engine: Engine, people: People, limits: Limits
) -> None:
    people.ann()
    account = the_account(engine)
    over = a_record(message_id="<2@x>", state="cancelled", finished_at=(now() - DAY).isoformat())
    with engine.begin() as connection:
        importing.stage(connection, account=account, reading=read_bytes(a_file(a_record(), over)))
        older = "UPDATE import_rows SET options = '{}', reply_scope = 'thread', at_any_hour = TRUE, reference = 'deal'"
        connection.execute(text(older))
        importing.confirm(connection, account=account, limits=limits, with_past=True)
        for table in ("email_snoozes", "email_snoozes_archive"):
            [row] = connection.execute(text(f"SELECT * FROM {table}")).all()  # noqa: S608
            assert (row.reply_scope, row.at_any_hour, row.reference) == ("thread", True, "deal")


def test_what_waits_here_with_another_time_stays_as_it_is(engine: Engine, people: People, limits: Limits) -> None:
    people.ann()
    promise = now() + 5 * DAY
    a_snooze(engine, message_id="<1@x>", remind_at=promise)
    account = the_account(engine)
    with engine.begin() as connection:
        importing.stage(connection, account=account, reading=read_bytes(a_file(a_record(), a_record(state="gone"))))
        summary = queries.summary(connection, account_id=account.id)
    assert summary is not None
    assert (summary.new, summary.changed, summary.refused) == (0, 1, 1)
    with engine.begin() as connection:
        importing.confirm(connection, account=account, limits=limits, with_past=True)
        assert connection.execute(text("SELECT remind_at FROM email_snoozes")).scalars().all() == [promise]


@pytest.mark.parametrize("with_past", [True, False])
def test_what_should_have_come_back_since_does_so_now_or_is_history(
    engine: Engine, people: People, limits: Limits, with_past: bool
) -> None:
    people.ann()
    content = a_file(a_record(promised=(now() - 20 * DAY).isoformat(), subject="Late"))
    done = imported(engine, limits, content, with_past=with_past)
    assert done is not None
    assert (done.waiting, done.finished) == ((1, 0) if with_past else (0, 1))
    assert len(claim(engine)) == done.waiting
    again = imported(engine, limits, content, with_past=with_past)
    assert again == Imported(waiting=0, finished=0, presets=False)


def test_what_repeats_goes_on_with_its_next_time(engine: Engine, people: People, limits: Limits) -> None:
    people.ann()
    record = a_record(promised="2026-02-02T09:00:00+00:00", recurrence=WEEKLY, time_kind="wall")
    imported(engine, limits, a_file(record), with_past=False)
    with engine.connect() as connection:
        row = connection.execute(text("SELECT * FROM email_snoozes")).one()
    assert now() < row.remind_at < now() + 8 * DAY
    assert (row.remind_at.weekday(), row.remind_at.hour, row.recurrence) == (0, 9, WEEKLY)


def test_a_kept_promise_of_the_file_never_stands_for_one_that_is_due(
    engine: Engine, people: People, limits: Limits
) -> None:
    people.ann()
    promise = (now() - HOUR).isoformat()
    record = a_record(id=7, promised=promise)
    ledger = [
        {"type": "send", "snooze": 7, "promised": at, "state": "sent", "channel": "email", "sent_at": promise}
        for at in (promise, (now() - 9 * DAY).isoformat())
    ]
    imported(engine, limits, a_file(record, *ledger))
    [held] = claim(engine)
    with engine.connect() as connection:
        promises = connection.execute(text("SELECT scheduled_for FROM reminder_sends")).scalars().all()
    assert held.scheduled_for not in promises


def test_all_becomes_the_importers_and_no_case_of_an_operator(engine: Engine, people: People, limits: Limits) -> None:
    people.ann()
    people.ann(BOB)
    case = a_record(
        state="retired", finished_at=(now() - DAY).isoformat(), promised=(now() - DAY).isoformat(), user_email=BOB
    )
    letter = a_record(message_id="<2@x>", user_email=BOB, sender_email=BOB, subject=f"to {BOB}", priority=1000)
    imported(engine, limits, a_file({"type": "account", "email": BOB, "role": "admin"}, case, letter))
    with engine.connect() as connection:
        live = connection.execute(text("SELECT user_email, sender_email, subject, priority FROM email_snoozes")).all()
        archived = connection.execute(text("SELECT user_email, outcome FROM email_snoozes_archive")).all()
    assert live == [(ANN, BOB, f"to {BOB}", 0)]
    assert archived == [(ANN, "cancelled")]
    assert the_account(engine).role == "user"


def test_history_makes_only_the_months_that_are_kept(engine: Engine, people: People, limits: Limits) -> None:
    people.ann()
    before = partitions(engine)
    records = [
        a_record(
            state="cancelled",
            message_id=str(days),
            promised="1971-01-01T00:00:00+00:00",
            created_at="1970-02-01T00:00:00+00:00",
            finished_at=(now() - days * DAY).isoformat(),
        )
        for days in (1, 100, 400, 4_000, 20_000)
    ]
    done = imported(engine, limits, a_file(*records))
    assert done is not None
    assert done.finished == 3
    assert len(partitions(engine) - before) <= 2 * 4


def test_imports_are_counted_and_what_is_too_much_is_not_half_saved(
    engine: Engine, people: People, settings: Settings
) -> None:
    people.ann()
    few = settings.model_copy(update={"imported_snoozes_per_day": 3}).limits
    records = [a_record(message_id=str(number)) for number in range(2)]
    assert imported(engine, few, a_file(*records)) is not None
    more = [a_record(message_id=str(number)) for number in range(10, 12)]
    with pytest.raises(QuotaReached):
        imported(engine, few, a_file(*more))
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one() == 2


def test_a_closed_account_confirms_nothing(engine: Engine, people: People, limits: Limits) -> None:
    people.ann()
    account = the_account(engine)
    with engine.begin() as connection:
        importing.stage(connection, account=account, reading=read_bytes(a_file(a_record())))
        accounts.close(connection, email=ANN)
    with engine.begin() as connection:
        assert importing.confirm(connection, account=account, limits=limits, with_past=True) is None
        assert connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one() == 0


def test_a_message_that_is_kept_here_leaves_the_inbox_until_then(
    engine: Engine, people: People, limits: Limits
) -> None:
    people.ann()
    a_kept_message(engine, message_id="<1@x>")
    imported(engine, limits, a_file(a_record()))
    with engine.connect() as connection:
        folder, returns_at = connection.execute(text("SELECT folder, returns_at FROM messages")).one()
    assert (folder, returns_at > now()) == ("snoozed", True)


def test_a_file_that_is_not_confirmed_is_forgotten(engine: Engine, people: People, limits: Limits) -> None:
    people.ann()
    account = the_account(engine)
    for created in ("23 hours", "25 hours"):
        with engine.begin() as connection:
            importing.stage(connection, account=account, reading=read_bytes(a_file(a_record())))
            connection.execute(text("UPDATE imports SET created_at = now() - CAST(:age AS interval)"), {"age": created})
        chores.prune(engine)
        with engine.connect() as connection:
            left = connection.execute(text("SELECT count(*) FROM import_rows")).scalar_one()
        assert left == (1 if created == "23 hours" else 0)
