"""Imports from another scheduler: each job once, whatever stops an import, however often it is run."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from snoozer.db import cutover
from snoozer.delivery.chores import erasing
from snoozer.operators.cutover import apscheduler_store, celery_beat, databases, importing
from snoozer.operators.cutover.record import Record, SourceError
from snoozer.queue.changes import import_jobs
from snoozer.timephrase.recurrence import Recurrence
from tests.acting import cancel
from tests.db.old_schedulers import Run, a_file, a_job_store, a_reader, beat_tables
from tests.factories import ANN, HOUR, People, a_snooze, now, the_row

BOB = "bob@snoozer.example"


def job(number: int, **values: Any) -> dict[str, Any]:
    due = (now() + HOUR).isoformat()
    return {"job_id": f"job-{number}", "user_email": ANN, "remind_at": due, "subject": f"Lease {number}"} | values


def rows(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT * FROM email_snoozes ORDER BY id")).all())


def outcomes(engine: Engine) -> dict[str, str]:
    return {job.job_id: job.outcome for job in importing.outcomes(engine, name="crm")}


def remind(**called_with: Any) -> None:
    """What the old scheduler calls."""


def test_a_dry_run_writes_nothing_and_says_what_an_import_would_do(engine: Engine, tmp_path: Path) -> None:
    source = a_file(tmp_path / "jobs", [job(1), job(1), job(2, user_email="?"), job(3, remind_at=now().isoformat())])
    dry = Run(engine, source)
    summary = dry.run(apply=False)
    assert rows(engine) == []
    assert (summary.counts, summary.overdue) == ({"new": 2, "refused": 2}, 1)
    assert [place for place, _ in dry.refused] == ["line 2", "line 3"]
    assert Run(engine, source).run(apply=True).counts == summary.counts
    assert len(rows(engine)) == 2


def test_a_job_is_imported_with_all_that_it_says(engine: Engine, tmp_path: Path) -> None:
    given = job(
        1,
        priority=7,
        serialization_key="ann",
        note="Call",
        reference="crm-9",
        sender_email=BOB,
        message_id="<1@mail.example>",
    )
    often = job(2, remind_at=None, when="every friday 8am", zone="Europe/Berlin")
    Run(engine, a_file(tmp_path / "jobs", [given, often])).run(apply=True)
    once, repeats = rows(engine)
    assert (once.user_email, once.message_id, once.subject) == (ANN, "<1@mail.example>", "Lease 1")
    assert (once.priority, once.serialization_key, once.note, once.sender_email) == (7, "ann", "Call", BOB)
    assert once.reference == "crm-9"
    assert (once.recurrence, once.wall_time, once.zone, once.time_kind) == (None, None, None, None)
    assert Recurrence.from_json(repeats.recurrence).weekdays == (4,)
    assert (repeats.zone, repeats.time_kind, repeats.wall_time.hour) == ("Europe/Berlin", "wall", 8)


def test_to_import_again_adds_nothing_even_after_all_was_sent_and_archived(engine: Engine, tmp_path: Path) -> None:
    source = a_file(tmp_path / "jobs", [job(1), job(2)])
    Run(engine, source).run(apply=True)
    assert Run(engine, source).run(apply=True).counts == {"same": 2}
    with engine.begin() as connection:
        finish = "UPDATE email_snoozes SET inactive = TRUE, outcome = 'sent', finished_at = now() WHERE id = 1"
        connection.execute(text(finish))
        connection.execute(text("DELETE FROM email_snoozes WHERE id = 2"))
    assert Run(engine, source).run(apply=True).counts == {"over": 2}
    assert [row.id for row in rows(engine)] == [1]
    assert outcomes(engine) == {"job-1": "sent", "job-2": "erased"}


@pytest.mark.parametrize("batch_size", [1, 3])
def test_an_import_that_stops_goes_on_where_it_was(
    batch_size: int, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH_SIZE", batch_size)
    source = a_file(tmp_path / "jobs", [job(number) for number in range(7)])

    def broken() -> Any:
        for number, record in enumerate(source()):
            if number == 5:
                raise SourceError("the old database went away")
            yield record

    with pytest.raises(SourceError):
        Run(engine, broken).run(apply=True)
    saved = 5 - 5 % batch_size
    assert len(rows(engine)) == saved
    assert Run(engine, source).run(apply=True).counts == {"new": 7 - saved, "same": saved}
    assert len(rows(engine)) == 7


def test_a_batch_is_saved_whole_or_not_at_all(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*arguments: Any, **values: Any) -> None:
        raise OperationalError("", {}, Exception("lost"))

    with monkeypatch.context() as patched:
        patched.setattr(cutover, "mark_seen", lost)
        with pytest.raises(OperationalError):
            Run(engine, a_file(tmp_path / "jobs", [job(1)])).run(apply=True)
    assert rows(engine) == []
    assert outcomes(engine) == {}


def test_a_message_that_is_snoozed_already_is_refused_and_keeps_its_snooze(engine: Engine, tmp_path: Path) -> None:
    id = a_snooze(engine, user_email=ANN, message_id="<1@mail.example>", subject="Mine")
    given = [job(1, message_id="<1@mail.example>"), job(2, message_id="<2@mail.example>")]
    run = Run(engine, a_file(tmp_path / "jobs", [*given, job(3, message_id="<2@mail.example>")]))
    assert run.run(apply=True).counts == {"new": 1, "refused": 2}
    assert the_row(engine, id).subject == "Mine"
    assert {reason for _, reason in run.refused} == {"its message is snoozed already"}


def test_the_same_job_further_down_is_refused_also_in_another_batch(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH_SIZE", 1)
    later = (now() + 9 * HOUR).isoformat()
    summary = Run(engine, a_file(tmp_path / "jobs", [job(1), job(1, remind_at=later)])).run(apply=True)
    assert summary.counts == {"new": 1, "refused": 1}
    [row] = rows(engine)
    assert row.remind_at < now() + 2 * HOUR


def test_a_job_that_the_old_scheduler_moved_is_moved_unless_its_owner_moved_it_here(
    engine: Engine, tmp_path: Path
) -> None:
    Run(engine, a_file(tmp_path / "jobs", [job(1), job(2)])).run(apply=True)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = remind_at + INTERVAL '1 day' WHERE id = 2"))
    before = the_row(engine, 2).remind_at
    later = now() + 5 * HOUR
    moved = [job(number, remind_at=later.isoformat()) for number in (1, 2)]
    source = a_file(tmp_path / "jobs", moved)
    assert Run(engine, source).run(apply=False).counts == {"moved": 1, "same": 1}
    assert Run(engine, source).run(apply=True).counts == {"moved": 1, "same": 1}
    assert (the_row(engine, 1).remind_at, the_row(engine, 2).remind_at) == (later, before)
    assert Run(engine, source).run(apply=True).counts == {"same": 2}


def test_what_the_old_scheduler_no_longer_has_is_withdrawn_and_may_come_again(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    both = [job(1), job(2)]
    one = both[:1]
    Run(engine, a_file(path, both)).run(apply=True)
    assert Run(engine, a_file(path, one)).run(apply=False, withdraw_missing=True).withdrawn == 1
    assert Run(engine, a_file(path, one)).run(apply=True).withdrawn == 0
    assert outcomes(engine) == {"job-1": "waiting", "job-2": "waiting"}
    assert Run(engine, a_file(path, one)).run(apply=True, withdraw_missing=True).withdrawn == 1
    assert outcomes(engine) == {"job-1": "waiting"}
    assert the_row(engine, 2).outcome == "cancelled"
    assert Run(engine, a_file(path, both)).run(apply=True).counts == {"new": 1, "same": 1}
    assert outcomes(engine) == {"job-1": "waiting", "job-2": "waiting"}


def test_nothing_is_withdrawn_while_a_line_cannot_be_read(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    Run(engine, a_file(path, [job(1), job(2)])).run(apply=True)
    source = a_file(path, [job(1), job(2, user_email="damaged")])
    assert Run(engine, source).run(apply=True, withdraw_missing=True).withdrawn == 0
    assert outcomes(engine) == {"job-1": "waiting", "job-2": "waiting"}


def test_a_job_that_names_another_person_now_is_refused(engine: Engine, tmp_path: Path) -> None:
    Run(engine, a_file(tmp_path / "jobs", [job(1)])).run(apply=True)
    run = Run(engine, a_file(tmp_path / "jobs", [job(1, user_email=BOB)]))
    assert run.run(apply=True).counts == {"refused": 1}
    assert [row.user_email for row in rows(engine)] == [ANN]


def test_two_schedulers_may_have_jobs_of_one_id(engine: Engine, tmp_path: Path) -> None:
    source = a_file(tmp_path / "jobs", [job(1)])
    for name in ("crm", "shop"):
        assert Run(engine, source, reader=a_reader(name)).run(apply=True).counts == {"new": 1}
    assert len({row.message_id for row in rows(engine)}) == 2


def test_of_two_imports_at_once_that_both_found_a_job_new_one_enters_it(engine: Engine) -> None:
    given = {"job_id": "1", "user_email": ANN, "due_at": now().isoformat(), "priority": 0}
    with engine.begin() as connection:
        entered = [
            import_jobs(connection, source="crm", jobs=[given | {"message_id": message}])
            for message in ("<1@mail.example>", "<2@mail.example>")
        ]
    assert [len(ids) for ids in entered] == [1, 0]


def test_what_was_imported_is_erased_with_its_person(engine: Engine, people: People, tmp_path: Path) -> None:
    person = people.ann()
    source = a_file(tmp_path / "jobs", [job(1), job(2, user_email=BOB)])
    Run(engine, source).run(apply=True)
    with engine.begin() as connection:
        request = "INSERT INTO account_deletions (account_id, due_at, deliver) VALUES (:id, now(), FALSE)"
        connection.execute(text(request), {"id": person.id})
        cancel(connection, 1)
    for _ in range(9):
        erasing.erase_accounts(engine, settle=timedelta(0))
    with engine.connect() as connection:
        known = connection.execute(text("SELECT job_id, user_email FROM imported_jobs ORDER BY job_id")).all()
    assert known == [("job-1", ""), ("job-2", BOB)]
    assert outcomes(engine) == {"job-1": "erased", "job-2": "waiting"}
    assert Run(engine, source).run(apply=True).counts == {"over": 1, "same": 1}


@pytest.mark.parametrize("left", ["", "[\n", '[\n{"job_id": "job-1", "user_email": "ann@snoozer.example"},\n'])
def test_a_source_that_is_cut_off_withdraws_nothing(engine: Engine, tmp_path: Path, left: str) -> None:
    path = tmp_path / "jobs"
    Run(engine, a_file(path, [job(1), job(2)])).run(apply=True)
    source = a_file(path, [])
    path.write_text(left)
    for apply in (False, True):
        with pytest.raises(SourceError, match="cut off"):
            Run(engine, source).run(apply=apply, withdraw_missing=True)
    assert set(outcomes(engine).values()) == {"waiting"}


def test_a_job_store_of_apscheduler_is_read_without_running_what_it_holds(engine: Engine, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.sqlite'}"
    scheduler = a_job_store(url)
    due = now().replace(microsecond=0) + HOUR
    called = {"user_email": ANN, "subject": "Lease"}
    scheduler.add_job(remind, "date", run_date=due, kwargs=called, id="once")
    scheduler.add_job(remind, "cron", hour=9, minute=30, timezone="Europe/Berlin", kwargs=called, id="daily")
    scheduler.add_job(remind, "interval", hours=1, kwargs=called, id="hourly")
    scheduler.add_job(remind, "date", run_date=due, kwargs=called | {"when": Path("x")}, id="odd")
    scheduler.add_job(remind, "date", run_date=due, kwargs=called, id="paused").pause()
    scheduler.pause()
    scheduler.remove_jobstore("default")
    scheduler.shutdown()
    columns = {"job_id": "id", "remind_at": "next_run_time", "recurrence": "recurrence", "zone": "zone"}
    reader = a_reader()
    reader.columns.update(columns | {"user_email": "kwargs.user_email", "subject": "kwargs.subject"})
    run = Run(engine, apscheduler_store.job_store(url), reader=reader)
    assert run.run(apply=True).counts == {"new": 2, "refused": 3}
    assert {place for place, _ in run.refused} == {"job hourly", "job odd", "job paused"}
    assert {row.subject for row in rows(engine)} == {"Lease"}
    [once] = [row for row in rows(engine) if row.recurrence is None]
    [daily] = [row for row in rows(engine) if row.recurrence is not None]
    assert once.remind_at == due
    assert (daily.zone, daily.wall_time.hour, daily.wall_time.minute) == ("Europe/Berlin", 9, 30)


def test_the_tables_of_celery_beat_are_read(tmp_path: Path) -> None:
    def task(number: int, **values: Any) -> dict[str, Any]:
        return {"id": number, "name": f"t{number}", "task": "crm.remind", "enabled": True, "one_off": False} | values

    clock = datetime(2026, 12, 1, 8)  # noqa: DTZ001 - as Django writes it to SQLite
    crontab = {"minute": "0", "hour": "9", "day_of_week": "1", "day_of_month": "*", "month_of_year": "*"}
    url = beat_tables(
        tmp_path / "beat.sqlite",
        [
            task(1, clocked_id=1, args="[1]", kwargs='{"user_email": "ann@example.org"}'),
            task(2, crontab_id=1, kwargs="{}"),
            task(3, interval_id=1, last_run_at=clock),
            task(4, interval_id=2, last_run_at=clock),
            task(5, clocked_id=1, enabled=False),
            task(6, clocked_id=1, kwargs="{"),
            task(7, solar_id=1),
        ],
        clocked=[{"id": 1, "clocked_time": clock}],
        crontab=[{"id": 1, "timezone": "Europe/Berlin"} | crontab],
        interval=[{"id": 1, "every": 2, "period": "days"}, {"id": 2, "every": 5, "period": "minutes"}],
    )
    records = list(celery_beat.beat_tables(url)())
    assert [record.reason is None for record in records] == [True, True, True, False, False, False, False]
    once, weekly, other = (record.values or {} for record in records[:3])
    assert (once["id"], once["due"], once["args.0"]) == ("t1", clock.replace(tzinfo=UTC), 1)
    assert once["kwargs.user_email"] == "ann@example.org"
    assert (weekly["recurrence"]["weekdays"], weekly["due"].weekday()) == ([0], 0)
    assert (other["due"], other["recurrence"]["interval"]) == (clock.replace(tzinfo=UTC) + timedelta(days=2), 2)


def test_the_rows_of_a_query_are_read_from_any_database(engine: Engine, tmp_path: Path) -> None:
    url = engine.url.render_as_string(hide_password=False)
    found = list(databases.query(url, "SELECT 7 AS job_id, '09:00'::text AS at, '{\"to\": 1}'::jsonb AS called")())
    assert found == [
        Record(place="row 1", values={"job_id": 7, "at": "09:00", "called": {"to": 1}, "called.to": 1}),
    ]
    with pytest.raises(SourceError, match="refused"):
        list(databases.query(url, "DELETE FROM email_snoozes RETURNING id")())
    for wrong in ("nonsense", "oracle://x", f"sqlite:///{tmp_path}/none", "postgresql://u:secret@127.0.0.1:1/x"):
        with pytest.raises(SourceError) as error:
            list(databases.query(wrong, "SELECT 1")())
        assert "secret" not in str(error.value)
