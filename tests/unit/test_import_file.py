"""A file that is imported: no line of it takes long or much memory, and nothing that makes no sense is read."""

import csv
import io
import json
import tracemalloc
from datetime import UTC, date, datetime, timedelta
from time import process_time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from snoozer.people.personal_data.import_file import MAX_LINE_BYTES, MAX_ROWS, NotAnExport
from snoozer.queue.promise import EXPORTED
from snoozer.timephrase.recurrence import nth_weekday
from snoozer.timephrase.zones import resolve_wall_time as resolve
from tests.export_files import DAY, HEAD, WEEKLY, a_file, a_record, read_bytes
from tests.factories import now


def the_reason(**values: Any) -> str | None:
    [row] = read_bytes(a_file(a_record(**values))).rows
    return row.reason


@pytest.mark.parametrize(
    "change",
    [
        {"times": 10**9, "unit": "day"},
        {"start": "0001-01-01", "times": 5000, "unit": "day"},
        {"start": "9999-12-31"},
        {"interval": 10**6},
        {"weekdays": [0] * 10_000},
        {"weekdays": [0, 0]},
        {"rest": [5] * 10_000},
        {"weekdays": "0123456"},
        {"unit": "second"},
        {"at": "09:00:00+01:00"},
        {"interval": 1e300},
        {"weekend_rule": "after", "rest": [0, 1, 2, 3, 4, 5, 6]},
        {"more": 1},
        {"start": {"a": 1}},
    ],
    ids=" ".join,
)
def test_a_repetition_that_cannot_be_counted_is_left_out(change: dict[str, Any]) -> None:
    assert "repetition" in str(the_reason(recurrence={**WEEKLY, **change}, promised="2026-02-02T09:00:00+00:00"))


def test_only_so_many_repetitions_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snoozer.people.personal_data.import_file.MAX_REPEATING", 2)
    records = [a_record(message_id=str(number), recurrence=WEEKLY) for number in range(4)]
    assert [row.reason is None for row in read_bytes(a_file(*records)).rows] == [True, True, False, False]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"message_id": ""}, "message_id"),
        ({"message_id": "x" * 999}, "message_id"),
        ({"message_id": "a\x00b"}, "message_id"),
        ({"message_id": "\ud800"}, "message_id"),
        ({"message_id": ["x"]}, "message_id"),
        ({"note": "n" * 100_00}, "note"),
        ({"promised": "tomorrow"}, "promised"),
        ({"promised": "2027-01-01T00:00:00"}, "promised"),
        ({"promised": "9999-12-31T23:59:59-14:00"}, "promised"),
        ({"promised": "0001-01-01T00:00:00+14:00"}, "promised"),
        ({"promised": 5}, "promised"),
        ({"promised": "2099-01-01T00:00:00+00:00"}, "too far"),
        ({"created_at": None}, "created_at"),
        ({"created_at": "2098-01-01T00:00:00+00:00"}, "created_at"),
        ({"state": "claimed"}, "state"),
        ({"state": ["waiting"]}, "state"),
        ({"state": "sent"}, "finished_at"),
        ({"state": "sent", "finished_at": "1970-03-01T00:00:00+00:00"}, "months ago"),
        ({"recurrence": WEEKLY, "zone": "Mars/Base"}, "repetition"),
        ({"recurrence": "weekly"}, "repetition"),
    ],
)
def test_a_row_that_makes_no_sense_is_left_out_with_its_reason(values: dict[str, Any], reason: str) -> None:
    assert reason in str(the_reason(**values))


def test_a_message_waits_once_and_a_snooze_is_read_once() -> None:
    first, other = a_record(), a_record(created_at="2026-01-02T00:00:00+00:00")
    over = a_record(state="cancelled", finished_at=now().isoformat(), created_at="2026-01-03T00:00:00+00:00")
    rows = read_bytes(a_file(first, first, other, over)).rows
    assert [row.reason is None for row in rows] == [True, False, False, True]


def test_texts_are_kept_as_text_and_what_is_unknown_is_skipped() -> None:
    record = a_record(subject="a\x00b\ud800", sender_email=5, reply_policy=["keep"], reply_scope="all", zone={}, x=1)
    [row] = read_bytes(a_file({"type": "from the future"}, record)).rows
    values = (row.reason, row.subject, row.sender_email, row.zone, row.options)
    assert values == (None, "ab?", None, None, dict.fromkeys(EXPORTED) | {"at_any_hour": False})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n  ",
        b"\xef\xbb\xbf",
        b"[]",
        b"{}",
        b"[\n{\n",
        b"null",
        b"PK\x03\x04" + b"\x00" * 99,
        b"\x00" * 5000,
        b"a,b,c\n1,2,3\n",
        b'state,promised,message_id,created_at\n"',
        a_file()[:40],
        json.dumps(HEAD | {"version": 2}).encode(),
        json.dumps(HEAD | {"format": "x"}).encode(),
        a_file(["list"]),
        a_file() + b"\n" + b"[" * 60_000,
        a_file() + b"\n" + b"x" * (MAX_LINE_BYTES + 1),
        a_file() + b'\n{"a": ' + b"9" * 20_000 + b"}",
    ],
    ids=lambda content: repr(content[:20]),
)
def test_what_is_no_export_is_refused_whole(content: bytes) -> None:
    with pytest.raises(NotAnExport):
        read_bytes(content)


def test_a_file_has_so_many_snoozes_and_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snoozer.people.personal_data.import_file.MAX_LINES", 10)
    monkeypatch.setattr("snoozer.people.personal_data.import_file.MAX_ROWS", 3)
    assert len(read_bytes(a_file(*[a_record()] * 3)).rows) == 3
    for content in (a_file(*[a_record()] * 4), a_file() + b"\n" * 20):
        with pytest.raises(NotAnExport, match="more than"):
            read_bytes(content)
    assert MAX_ROWS == 20_000


@pytest.mark.parametrize(
    "line",
    [
        lambda: b'{"type": "snooze", "subject": [' + b"[]," * 20_000 + b"[]]}\n",
        lambda: b'{"type": "snooze", "id": 1, "message_id": "' + b"x" * 60_000 + b'"}\n',
        lambda: b'{"type": "send", "snooze": 1, "reply": "' + b"x" * 60_000 + b'"}\n',
        lambda: json.dumps(a_record(subject="s" * 50_000, sender_email="s" * 9_000)).encode() + b"\n",
    ],
    ids=["brackets", "long ids", "sends", "long texts"],
)
def test_a_large_file_takes_little_memory(line: Any) -> None:
    content = a_file() + b"\n" + line() * (10_000_000 // len(line()))
    tracemalloc.start()
    read_bytes(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # io.BytesIO shares the bytes.
    assert peak < 6_000_000


def test_a_table_with_thousands_of_columns_is_read_by_its_first_ones() -> None:
    """Each row had a value for each column: 2 MB took seconds."""
    columns = b",".join([b"state", b"promised", b"message_id", b"created_at", *[b"x%d" % n for n in range(5_000)]])
    started = process_time()
    rows = read_bytes(columns + b"\n" + b"waiting,\n" * (MAX_ROWS - 1)).rows
    assert process_time() - started < 1
    assert len(rows) == MAX_ROWS - 1
    with pytest.raises(NotAnExport, match="no columns state"):
        read_bytes(b",".join(b"x%d" % n for n in range(5_000)) + b"," + columns + b"\n")


def test_a_table_from_a_spreadsheet_is_read() -> None:
    table = io.StringIO()
    writer = csv.writer(table, delimiter=",")
    writer.writerow(["created_at", "message_id", "promised", "state", "extra"])
    writer.writerow([datetime(2026, 1, 1, tzinfo=UTC).isoformat(), "<1@x>", (now() + DAY).isoformat(), "waiting", "x"])
    writer.writerow(["", "<2@x>", "", "waiting"])
    rows = read_bytes(table.getvalue().encode()).rows
    assert [row.reason is None for row in rows] == [True, False]


@pytest.mark.parametrize("label", ["\ud800", "a\x00b", "x" * 5_000, 7, {"a": 1}, None])
def test_the_label_of_a_preset_is_text_that_the_database_takes(label: object) -> None:
    """A surrogate or a NUL was an error of the server."""
    [*presets] = read_bytes(a_file({"type": "preset", "label": label, "phrase": "tomorrow"})).presets
    assert all(isinstance(text, str) and "\x00" not in text and text.encode() for preset in presets for text in preset)
    assert len(presets) == (1 if isinstance(label, str) else 0)


def counted_daily(rows: int, **changed: Any) -> list[bool]:
    """Which of so many rows are read, each of a repetition that has been counted for ten years."""
    start = (now() - timedelta(days=3_600)).date().isoformat()
    daily = {**WEEKLY, "unit": "day", "weekdays": [], "start": start, "times": 5_000, **changed}
    records = [
        a_record(message_id=str(number), recurrence=daily, promised=f"{start}T09:00:00+00:00") for number in range(rows)
    ]
    return [row.reason is None for row in read_bytes(a_file(*records)).rows]


@pytest.mark.parametrize("changed", [{}, {"weekend_rule": "after", "rest": [0, 1, 2, 3, 4, 5]}], ids=" ".join)
def test_only_so_many_dates_are_counted_for_all_rows_of_a_file(
    changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two thousand repetitions of five thousand times took half a minute."""
    monkeypatch.setattr("snoozer.people.personal_data.import_file.MAX_STEPS", 10_000)
    assert counted_daily(5, **changed) == [True, True, False, False, False]
    # Without a number of times its dates need not be counted from the first.
    assert counted_daily(50, **changed, times=None) == [True] * 50


@pytest.mark.parametrize("unit", ["month", "year"])
def test_a_date_that_never_comes_is_sought_for_fifty_years(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fifth Monday of February in odd years."""
    asked: list[int] = []

    def sought(year: int, month: int, **of: int) -> date | None:
        asked.append(year)
        return nth_weekday(year, month, **of)

    monkeypatch.setattr("snoozer.timephrase.recurrence.nth_weekday", sought)
    odd = now().year - 1 - now().year % 2
    never = {**WEEKLY, "unit": unit, "nth": 5, "month": 2, "start": f"{odd}-02-01"}
    never["interval"] = 2 if unit == "year" else 24
    [row] = read_bytes(a_file(a_record(recurrence=never, promised=f"{odd}-02-01T09:00:00+00:00"))).rows
    assert (row.reason, len(asked) < 30, max(asked) - odd <= 60) == (None, True, True)


def test_a_repetition_that_began_long_ago_is_not_counted_day_by_day_on_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two thousand of them took the better part of a minute."""
    asked: list[datetime] = []

    def counted(wall: datetime, zone: ZoneInfo) -> tuple[datetime, frozenset[str]]:
        asked.append(wall)
        return resolve(wall, zone)

    monkeypatch.setattr("snoozer.timephrase.recurrence.resolve_wall_time", counted)
    # Nearly eleven years ago: what began earlier is refused.
    start = (now() - timedelta(days=3_900)).date()
    daily = {**WEEKLY, "unit": "day", "weekdays": [], "start": start.isoformat(), "times": 5000}
    promised = f"{start + timedelta(days=3_716)}T09:00:00+00:00"
    [row] = read_bytes(a_file(a_record(recurrence=daily, promised=promised))).rows
    assert row.reason is None
    assert len(asked) < 50
