"""Files and schedules of other schedulers: what is hostile or has no equal here is refused, with a reason."""

import pickle
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger
from click.testing import CliRunner

from snoozer.cli import commands
from snoozer.operators.cutover import files, restricted_pickle
from snoozer.operators.cutover.jobs import Job, JobReader, JobRefused
from snoozer.operators.cutover.record import MAX_VALUES, Record, SourceError, flatten
from snoozer.operators.cutover.restricted_pickle import UnsafePickle
from snoozer.operators.cutover.schedules import NotARepetition, crontab_of, of_trigger
from snoozer.timephrase.recurrence import next_occurrence

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
FIELDS = (
    "job_id",
    "user_email",
    "message_id",
    "remind_at",
    "when",
    "recurrence",
    "zone",
    "priority",
    "subject",
    "reference",
)
GOOD = {"job_id": "7", "user_email": "Ann@Example.org", "remind_at": "2026-03-05T09:00:00+01:00"}


class Evil:
    def __reduce__(self) -> Any:
        return eval, ("open('/tmp/was-here', 'w')",)


def a_reader(**options: Any) -> JobReader:
    return JobReader(name="crm", columns={field: field for field in FIELDS}, **options)


def read(values: dict[str, Any], **options: Any) -> Job:
    return a_reader(**options).read(Record(place="line 1", values=values), now=NOW)


def test_a_job_that_names_no_message_has_the_same_one_at_each_import() -> None:
    job = read(GOOD)
    assert (job.user_email, job.due_at) == ("ann@example.org", datetime(2026, 3, 5, 8, tzinfo=UTC))
    assert job.message_id == read(GOOD | {"subject": "Another"}).message_id
    assert job.message_id != read(GOOD | {"job_id": "8"}).message_id
    assert len(job.message_id) < 100


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"job_id": ""}, "job_id"),
        ({"job_id": "x" * 501}, "job_id"),
        ({"job_id": "\ud800"}, "job_id"),
        ({"job_id": "a\x00"}, "job_id"),
        ({"user_email": "nonsense"}, "user_email"),
        ({"user_email": ["ann@example.org"]}, "user_email"),
        ({"remind_at": None}, "no time"),
        ({"remind_at": "soon"}, "no time"),
        ({"remind_at": "2026-03-05T09:00:00"}, "--zone"),
        ({"remind_at": 1e300}, "no time"),
        ({"remind_at": float("nan")}, "no time"),
        ({"remind_at": "2020-01-01T00:00:00Z"}, "too long ago"),
        ({"remind_at": "2050-01-01T00:00:00Z"}, "ten years"),
        ({"when": "tomorrow 9am"}, "both"),
        ({"remind_at": None, "when": "blue moon", "zone": BERLIN}, "phrase"),
        ({"priority": "1001"}, "priority"),
        ({"priority": True}, "priority"),
        ({"priority": 0.5}, "priority"),
        ({"zone": "Mars/Base"}, "zone"),
        ({"message_id": "x" * 999}, "message_id"),
        ({"reference": "x" * 1000}, "reference"),
        ({"recurrence": "{"}, "repetition"),
        ({"recurrence": [[[[]]]]}, "repetition"),
    ],
)
def test_a_job_with_a_bad_value_is_refused_with_a_reason(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(JobRefused, match=words):
        read(GOOD | changed)


def test_a_phrase_may_say_when_and_how_often() -> None:
    once = read({**GOOD, "remind_at": None, "when": "tomorrow 9am"}, zone=BERLIN)
    often = read({**GOOD, "remind_at": None, "when": "every friday 8am"}, zone=BERLIN)
    assert once.due_at == datetime(2026, 3, 3, 8, tzinfo=UTC)
    assert once.recurrence is None
    assert often.due_at == datetime(2026, 3, 6, 7, tzinfo=UTC)
    assert often.recurrence is not None
    assert often.columns["wall_time"] == "2026-03-06T08:00:00"


@pytest.mark.parametrize("value", ["1772697600", 1772697600, 1772697600.0, "2026-03-05 08:00", datetime(2026, 3, 5, 8)])  # noqa: DTZ001 - some databases have no offset
def test_a_time_is_read_in_the_spellings_that_databases_have(value: Any) -> None:
    assert read(GOOD | {"remind_at": value}, zone="UTC").due_at == datetime(2026, 3, 5, 8, tzinfo=UTC)


def test_each_line_of_a_table_is_a_record_or_has_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(
        b'\xef\xbb\xbfjob_id,subject\n1,"two\nlines"\n2\n3,"b\x00d"\n\n4,' + b"x" * 140_000 + b"\n5,last\n"
    )
    records = list(files.csv_file(path)())
    assert [record.place for record in records] == ["line 2", "line 4", "line 5", "line 7", "line 8"]
    assert [record.reason is None for record in records] == [True, False, True, False, True]
    assert records[0].values == {"job_id": "1", "subject": "two\nlines"}
    assert records[-1].values == {"job_id": "5", "subject": "last"}


@pytest.mark.parametrize("content", [b"", b"a,a\n1,2\n", b",\n1,2\n"])
def test_a_table_without_a_head_is_refused_whole(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_bytes(content)
    with pytest.raises(SourceError):
        list(files.csv_file(tmp_path / "jobs.csv")())


def test_json_comes_as_lines_or_as_an_array_with_a_record_a_line(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    long = b'{"job_id": "' + b"x" * files.MAX_LINE_BYTES + b'"}\n'
    path.write_bytes(b'[\n{"job_id": 1, "to": {"mail": "a"}},\n7,\n' + long + b"[" * 5000 + b'\n{"job_id": 2}\n]\n')
    records = list(files.json_file(path)())
    assert [record.reason is None for record in records] == [True, False, False, False, True]
    assert records[0].values is not None
    assert records[0].values["to.mail"] == "a"
    assert records[-1].place == "line 6"


def test_what_celery_prints_of_its_eta_tasks_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scheduled.json"
    path.write_text(
        '{"celery@one": [{"eta": "2026-03-05T08:00:00+00:00", "priority": 6, "request": {"id": "4f", '
        '"name": "crm.remind", "args": ["ann@example.org"], "kwargs": {"subject": "Lease"}}}, {"eta": 1}], '
        '"celery@two": []}'
    )
    task, broken = files.celery_scheduled_file(path)()
    assert task.values is not None
    assert (task.values["id"], task.values["eta"]) == ("4f", "2026-03-05T08:00:00+00:00")
    assert (task.values["args.0"], task.values["kwargs.subject"]) == ("ann@example.org", "Lease")
    assert broken.reason
    path.write_text("[]")
    with pytest.raises(SourceError):
        list(files.celery_scheduled_file(path)())


@pytest.mark.parametrize("kind", ["celery-scheduled", "celery-beat", "sql"])
def test_a_broker_is_no_source_and_the_way_round_it_is_named(kind: str, tmp_path: Path) -> None:
    """Nor is its password printed."""
    url = tmp_path / "broker.url"
    url.write_text("redis://:pass-word@cache.example:6379/0\n")
    answer = CliRunner().invoke(commands, ["import", f"@{url}", "--format", kind, "--name", "crm"])
    assert answer.exit_code == 2
    assert "celery inspect scheduled --json" in answer.output
    assert "pass-word" not in answer.output


def test_values_within_values_are_found_by_their_path_and_are_few() -> None:
    deep: Any = {}
    for _ in range(50):
        deep = {"a": deep, "b": [1, 2]}
    assert flatten(deep)["a.b.1"] == 2
    assert len(flatten({str(number): number for number in range(10_000)})) == MAX_VALUES


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Evil()),
        pickle.dumps({"args": [Evil()]}, protocol=2),
        b"cos\nsystem\n(S'true'\ntR.",
        b"cbuiltins\ngetattr\n(cdatetime\ndatetime\nVnow\ntR.",
        b"czoneinfo\nZoneInfo\n(Vutc\ntR.",
        b"csnoozer.operators.cutover.restricted_pickle\n_zone\n.",
        b"\x80\x04r" + struct.pack("<I", 2**31) + b".",
        b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",
        # Read, it would be None, and its memo as large as its number.
        b"\x80\x04Nr" + struct.pack("<I", 20_000) + b".",
        b"\x80\x04P1\n.",
        b"not a pickle",
        b"",
        pickle.dumps("x" * restricted_pickle.MAX_BYTES),
        pickle.dumps(ZoneInfo("Europe/Berlin")).replace(b"Europe/Berlin", b"../../etc/pwd"),
    ],
)
def test_a_pickle_runs_and_names_nothing_but_dates_and_triggers(content: bytes) -> None:
    with pytest.raises(UnsafePickle):
        restricted_pickle.load(content)
    assert not Path("/tmp/was-here").exists()


CRON: list[tuple[dict[str, Any], str]] = [
    ({"hour": 9, "minute": 30}, "day"),
    ({"hour": 9, "minute": 30, "day_of_week": "mon-fri"}, "week"),
    ({"hour": 9, "minute": 30, "day": 15}, "month"),
    ({"hour": 9, "minute": 30, "day": "last"}, "month"),
    ({"hour": 9, "minute": 30, "day": "2nd tue"}, "month"),
    ({"hour": 9, "minute": 30, "day": "last fri"}, "month"),
    ({"hour": 9, "minute": 30, "day": 24, "month": 12}, "year"),
]


def due_of(trigger: Any, after: datetime) -> datetime:
    found: datetime = trigger.get_next_fire_time(None, after)
    return found


def pickled(trigger: Any) -> Any:
    return restricted_pickle.load(pickle.dumps({"trigger": trigger}, pickle.HIGHEST_PROTOCOL))["trigger"]


@pytest.mark.parametrize(("fields", "unit"), CRON)
def test_a_cron_trigger_comes_at_the_same_times_as_its_repetition(fields: dict[str, Any], unit: str) -> None:
    trigger = CronTrigger(**fields, timezone=BERLIN)
    due = due_of(trigger, NOW)
    recurrence = of_trigger(pickled(trigger), due=due.astimezone(UTC), zone=BERLIN)
    assert recurrence is not None
    assert recurrence.unit == unit
    for _ in range(20):
        # A second later: a time that was sent is over.
        due = due_of(trigger, due + timedelta(seconds=1))
        assert next_occurrence(recurrence, after=due - timedelta(seconds=1), zone=BERLIN) == due


@pytest.mark.parametrize(
    "make",
    [
        lambda: CronTrigger(minute="*/5", timezone=BERLIN),
        lambda: CronTrigger(hour="9,17", minute=0, timezone=BERLIN),
        lambda: CronTrigger(hour=9, minute=0, second=30, timezone=BERLIN),
        lambda: CronTrigger(hour=9, minute=0, day=31, timezone=BERLIN),
        lambda: CronTrigger(hour=9, minute=0, month="1-3", timezone=BERLIN),
        lambda: CronTrigger(hour=9, minute=0, week=2, timezone=BERLIN),
        lambda: CronTrigger(hour=9, minute=0, day="1-7", day_of_week="mon", timezone=BERLIN),
        lambda: CronTrigger(hour=9, minute=0, jitter=60, timezone=BERLIN),
        lambda: CronTrigger(hour=9, minute=0, end_date="2030-01-01", timezone=BERLIN),
        lambda: IntervalTrigger(hours=5, timezone=BERLIN),
        lambda: OrTrigger([DateTrigger(NOW), DateTrigger(NOW)]),
    ],
)
def test_a_schedule_without_an_equal_is_refused_rather_than_bent(make: Callable[[], Any]) -> None:
    trigger = make()
    due = due_of(trigger, NOW).astimezone(UTC)
    with pytest.raises(NotARepetition):
        of_trigger(pickled(trigger), due=due, zone=BERLIN)


def test_an_interval_of_days_and_a_date_are_read() -> None:
    every_other = pickled(IntervalTrigger(days=2, timezone=BERLIN))
    recurrence = of_trigger(every_other, due=NOW, zone=BERLIN)
    assert recurrence is not None
    assert (recurrence.unit, recurrence.interval) == ("day", 2)
    assert of_trigger(pickled(DateTrigger(NOW)), due=NOW, zone=BERLIN) is None


def test_a_crontab_of_celery_beat_knows_when_it_comes_next() -> None:
    crontab = crontab_of(minute="30", hour="9", weekday="0,fri", day="*", month="*")
    due = crontab.next_after(NOW, zone=BERLIN)
    assert due == datetime(2026, 3, 6, 8, 30, tzinfo=UTC)
    assert crontab.recurrence(due=due, zone=BERLIN).weekdays == (4, 6)
    for fields in (("*/5", "*"), ("x" * 200, "9"), ("99", "9"), ("-1", "9"), ("", "9")):
        with pytest.raises(NotARepetition):
            crontab_of(minute=fields[0], hour=fields[1], weekday="*", day="*", month="*").next_after(NOW, zone=BERLIN)
