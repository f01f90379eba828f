"""Parses a file that a person imports: line by line, each within limits, so that no file takes long or much memory."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from snoozer.people.personal_data.records import FORMAT, VERSION
from snoozer.people.personal_data.rows import (
    MAX_SENDS,
    ImportRow,
    RowRefused,
    StepBudget,
    read_preset,
    read_row,
    read_send,
)
from snoozer.people.personal_data.table import read_cell
from snoozer.translations import gettext as _

# A snooze with a note and subject of maximum length, and a reply of a mail server.
MAX_LINE_BYTES = 64 * 1024
MAX_LINES = 400_000
MAX_ROWS = 20_000
MAX_REPEATING = 2_000
# Dates of repetitions that are counted for one file, which takes less than a second.
MAX_STEPS = 100_000
MAX_PRESETS = 12
# An export has far fewer; columns after these are ignored.
MAX_COLUMNS = 100
_MARK = b"\xef\xbb\xbf"


class NotAnExport(ValueError):
    """The file cannot be imported at all; the text is a sentence for people."""


@dataclass(kw_only=True)
class Reading:
    """The contents of a file: its rows in their order, and the person's own presets as [label, phrase]."""

    rows: list[ImportRow] = field(default_factory=list)
    presets: list[list[str]] = field(default_factory=list)


def read(file: IO[bytes], *, now: datetime, keep_months: int) -> Reading:
    """Read a JSON or CSV file of an export. Raises NotAnExport."""
    start = file.read(len(_MARK) + 64)
    file.seek(len(_MARK) if start.startswith(_MARK) else 0)
    text = start.removeprefix(_MARK).lstrip()
    if not text:
        raise NotAnExport(_("The file is empty."))
    limits = _Limits(now=now, keep_months=keep_months)
    return _read_json(file, limits) if text[:1] in b"[{" else _read_table(file, limits)


@dataclass
class _Limits:
    """Counts rows, and refuses those beyond the limit."""

    now: datetime
    keep_months: int
    rows: int = 0
    repeating: int = 0
    seen: set[tuple[str, str]] = field(default_factory=set)
    steps: StepBudget = field(default_factory=lambda: StepBudget(MAX_STEPS))

    def row(self, line: int, values: dict[str, Any]) -> ImportRow:
        self.rows += 1
        if self.rows > MAX_ROWS:
            text = _(
                "The file has more than %(most)s snoozes. Split it, and import one part after another.",
                most=MAX_ROWS,
            )
            raise NotAnExport(text)
        try:
            if values.get("recurrence"):
                self.repeating += 1
                if self.repeating > MAX_REPEATING:
                    raise RowRefused(_("there are more than %(most)s repetitions in one file", most=MAX_REPEATING))
            row = read_row(line, values, now=self.now, keep_months=self.keep_months, steps=self.steps)
            self._once(row)
        except RowRefused as refused:
            return ImportRow(line=line, reason=str(refused))
        return row

    def _once(self, row: ImportRow) -> None:
        """Refuse duplicates: a message can wait only once, and a snooze can be in the file only once."""
        keys = {(row.message_id or "", row.made_at or "")}
        if row.state == "waiting":
            keys.add((row.message_id or "", "waiting"))
        if self.seen & keys:
            raise RowRefused(_("the same snooze stands further up in the file"))
        self.seen |= keys


def _read_json(file: IO[bytes], limits: _Limits) -> Reading:
    reading, by_id = Reading(), dict[int, ImportRow]()
    headed = False
    for line, record in _records(file):
        kind = record.get("type")
        if not headed:
            _check_head(record)
            headed = True
        elif kind == "snooze":
            row = limits.row(line, record)
            reading.rows.append(row)
            if type(record.get("id")) is int and row.reason is None:
                by_id[record["id"]] = row
        elif kind == "send":
            its_row = by_id.get(record["snooze"]) if type(record.get("snooze")) is int else None
            if its_row is not None and len(its_row.sends) < MAX_SENDS:
                its_row.sends |= read_send(record, now=limits.now)
        elif kind == "preset" and len(reading.presets) < MAX_PRESETS:
            preset = read_preset(record)
            reading.presets += [] if preset is None else [preset]
    if not headed:
        raise NotAnExport(_("The file has no record. It is not an export of Snoozer."))
    return reading


def _check_head(record: dict[str, Any]) -> None:
    if record.get("type") != "export" or record.get("format") != FORMAT:
        raise NotAnExport(_("The file does not begin as an export of Snoozer does."))
    if record.get("version") != VERSION:
        raise NotAnExport(_("The file was made by a newer Snoozer, whose exports this one cannot read."))


def _records(file: IO[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(_lines(file), start=1):
        stripped = line.strip().removesuffix(b",")
        if stripped in {b"", b"[", b"]"}:
            continue
        try:
            record = json.loads(stripped)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            text = _(
                "Line %(number)s is not a record. An export has one on each line, as docs/export.md says.",
                number=number,
            )
            raise NotAnExport(text)
        yield number, record


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    for number in range(1, MAX_LINES + 2):
        line = file.readline(MAX_LINE_BYTES + 1)
        if not line:
            return
        if len(line) > MAX_LINE_BYTES:
            text = _(
                "Line %(number)s is longer than %(most)s kB, which no record of an export is.",
                number=number,
                most=MAX_LINE_BYTES // 1024,
            )
            raise NotAnExport(text)
        if number > MAX_LINES:
            raise NotAnExport(_("The file has more than %(most)s lines.", most=MAX_LINES))
        yield line


def _read_table(file: IO[bytes], limits: _Limits) -> Reading:
    reading = Reading()
    lines = (line.decode("utf-8", "replace") for line in _lines(file))
    try:
        table = csv.DictReader(lines, strict=True)
        # Each row has a value for each of them, even if its line is short.
        table.fieldnames = (table.fieldnames or ())[:MAX_COLUMNS]
        if not {"message_id", "promised", "state", "created_at"} <= set(table.fieldnames):
            text = _("The table has no columns state, promised, message_id and created_at. It is no export.")
            raise NotAnExport(text)
        for cells in table:
            values = {name: read_cell(cell) or None for name, cell in cells.items() if name and isinstance(cell, str)}
            reading.rows.append(limits.row(table.line_num, _with_recurrence(values)))
    except csv.Error:
        raise NotAnExport(_("The table cannot be read as CSV.")) from None
    return reading


def _with_recurrence(values: dict[str, Any]) -> dict[str, Any]:
    if values.get("recurrence"):
        try:
            values["recurrence"] = json.loads(values["recurrence"])
        except (ValueError, RecursionError):
            values["recurrence"] = "unreadable"
    return values
