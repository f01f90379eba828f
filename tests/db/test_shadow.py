"""A shadow of another scheduler: what a worker would send and when, and each difference to what the old one sent."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Engine, text

from snoozer.operators.cutover import files, shadowing
from snoozer.operators.cutover.record import SourceError
from snoozer.operators.cutover.shadowing import Report, SendReader, Shadow
from tests.db.old_schedulers import a_file, a_reader
from tests.factories import ANN, HOUR, now

MINUTE = timedelta(minutes=1)


def a_job(id: str, due: datetime, **values: Any) -> dict[str, Any]:
    return {"job_id": id, "user_email": ANN, "remind_at": due.isoformat()} | values


class Stage:
    """A shadow whose source is a file that the test writes anew."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder
        self.refused: list[str] = []
        self.lines: list[str] = []
        self.shadow = Shadow(
            engine=engine,
            reader=a_reader(),
            source=files.json_file(folder / "jobs"),
            on_refused=lambda place, reason: self.refused.append(place),
        )

    def observe(self, *jobs: dict[str, Any]) -> None:
        a_file(self.folder / "jobs", jobs)
        self.shadow.observe()

    def report(self, *sends: tuple[str, datetime], extra: str = "") -> Report:
        self.lines.clear()
        log = self.folder / "sends"
        lines = [json.dumps({"job_id": id, "sent_at": at.isoformat()}) for id, at in sends]
        log.write_text("\n".join([*lines, extra]) + "\n")
        return shadowing.report(
            self.engine,
            name="crm",
            sends=files.json_file(log),
            reader=SendReader(columns={"job_id": "job_id", "sent_at": "sent_at"}),
            tolerance=MINUTE,
            on_difference=lambda job: self.lines.append(f"{job.kind} {job.job_id}"),
            on_unknown=lambda send: self.lines.append(f"unknown {send.job_id}"),
            on_refused=lambda place, reason: self.refused.append(place),
        )

    def rows(self) -> list[Any]:
        with self.engine.connect() as connection:
            return list(connection.execute(text("SELECT * FROM shadow_jobs ORDER BY would_send_at, job_id")).all())


@pytest.fixture
def stage(engine: Engine, tmp_path: Path) -> Stage:
    return Stage(engine, tmp_path)


def test_each_difference_is_reported_and_nothing_else(stage: Stage) -> None:
    due = now() - HOUR
    names = ("punctual", "a second late", "missed", "early", "late", "twice", "twice and late")
    stage.observe(*(a_job(name, due) for name in names), a_job("pending", now()), a_job("later", now() + HOUR))
    report = stage.report(
        ("punctual", due),
        ("a second late", due + timedelta(seconds=1)),
        ("early", due - 2 * MINUTE),
        ("late", due + 2 * MINUTE),
        ("twice", due),
        ("twice", due),
        ("twice and late", due),
        ("twice and late", due + 2 * MINUTE),
        ("foreign", due),
    )
    expected = {"unknown foreign", "missed missed", "early early", "late late", "twice twice", "twice twice and late"}
    assert set(stage.lines) == expected
    assert report.differences == len(stage.lines) == 6
    assert report.counts == {"same": 2, "missed": 1, "early": 1, "late": 1, "twice": 2, "pending": 2}
    assert report.slow == 0


def test_the_shadow_writes_nothing_to_the_queue(stage: Stage) -> None:
    stage.observe(a_job("1", now()))
    stage.shadow.claim_due()
    with stage.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM email_snoozes")).scalar_one() == 0


def test_it_claims_by_priority_then_by_time_and_of_a_key_one_at_a_time(stage: Stage) -> None:
    due = now() - MINUTE
    stage.observe(
        a_job("a plain", due),
        a_job("b earlier", due - MINUTE),
        a_job("c urgent", due, priority=9),
        a_job("d second of its key", due, serialization_key="k", priority=9),
        a_job("e first of its key", due - MINUTE, serialization_key="k"),
        a_job("f not due", due + HOUR),
    )
    first, *_ = stage.rows()
    assert [row.job_id[0] for row in stage.rows()] == ["c", "b", "e", "a", "d", "f"]
    assert first.would_send_at >= due
    assert stage.rows()[-1].would_send_at is None


def test_what_vanishes_before_its_time_was_withdrawn_or_sent_early_and_is_not_missed(stage: Stage) -> None:
    due = now() + HOUR
    stage.observe(a_job("cancelled", due), a_job("run by hand", due), a_job("stays", due))
    stage.observe(a_job("stays", due))
    with stage.engine.begin() as connection:
        connection.execute(text("UPDATE shadow_jobs SET due_at = due_at - INTERVAL '2 hours'"))
    report = stage.report(("run by hand", now() - 2 * HOUR))
    assert stage.lines == ["early run by hand", "missed stays"]
    assert report.counts["withdrawn"] == 1


def test_a_job_that_vanishes_within_the_margin_of_clocks_counts_as_due(stage: Stage) -> None:
    due = now() + timedelta(seconds=2)
    stage.observe(a_job("sent by a clock that is ahead", due))
    stage.observe()
    [row] = stage.rows()
    assert row.gone_at is None


def test_a_moved_job_is_judged_by_its_last_time_and_one_that_came_back_is_not_gone(stage: Stage) -> None:
    first, second = now() + HOUR, now() + 2 * HOUR
    stage.observe(a_job("moved", first), a_job("back", first))
    stage.observe(a_job("moved", second))
    stage.observe(a_job("moved", second), a_job("back", first))
    report = stage.report(("moved", second), ("back", first))
    assert report.counts == {"withdrawn": 1, "same": 2}


def test_the_sends_of_what_repeats_belong_to_the_nearest_time(stage: Stage) -> None:
    times = [now() - 3 * HOUR, now() - 2 * HOUR, now() - HOUR]
    for due in times:
        stage.observe(a_job("daily", due))
    report = stage.report(("daily", times[0]), ("daily", times[2] + 2 * MINUTE))
    assert report.counts == {"same": 1, "missed": 1, "late": 1}


def test_a_report_is_the_same_when_it_is_made_again(stage: Stage) -> None:
    due = now() - HOUR
    stage.observe(a_job("1", due), a_job("2", due))
    assert stage.report(("1", due)) == stage.report(("1", due))
    assert stage.report(("1", due), ("2", due)).differences == 0


def test_lines_that_cannot_be_read_make_the_report_incomplete_and_a_lost_log_changes_nothing(stage: Stage) -> None:
    due = now() - HOUR
    stage.observe(a_job("1", due))
    assert stage.report(("1", due), extra='{"job_id": "1"}').refused == 1
    (stage.folder / "sends").unlink()
    with pytest.raises(SourceError):
        shadowing.report(
            stage.engine,
            name="crm",
            sends=files.json_file(stage.folder / "sends"),
            reader=SendReader(columns={"job_id": "job_id", "sent_at": "sent_at"}),
            tolerance=MINUTE,
            on_difference=lambda job: None,
            on_unknown=lambda send: None,
            on_refused=lambda place, reason: None,
        )
    assert [row.sent_at for row in stage.rows()] == [[due]]


def test_a_source_that_is_away_ends_no_watch_and_takes_no_job_for_gone(stage: Stage) -> None:
    stage.observe(a_job("1", now() + HOUR))
    (stage.folder / "jobs").unlink()
    stopping = Event()
    stage.shadow.source = _stops(stopping, stage.shadow.source)
    stage.shadow.watch(every=0.1, stopping=stopping, on_pass=lambda jobs, refused: None)
    [row] = stage.rows()
    assert row.gone_at is None


def test_what_is_forgotten_is_gone(stage: Stage) -> None:
    stage.observe(a_job("1", now()), a_job("2", now() + HOUR))
    assert shadowing.forget(stage.engine, name="other") == 0
    assert shadowing.forget(stage.engine, name="crm") == 2
    assert stage.rows() == []


def _stops(stopping: Event, source: Any) -> Any:
    def read() -> Any:
        stopping.set()
        return source()

    return read
