"""Files as sources: a table (CSV with a header), JSON lines or a JSON array with a record on each line, and the output
of `celery inspect scheduled --json`."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from snoozer.operators.cutover.record import Record, Source, SourceError, flatten

MAX_LINE_BYTES = 256 * 1024
MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
_MARK = b"\xef\xbb\xbf"


def csv_file(path: Path) -> Source:
    return lambda: _read_table(path)


def json_file(path: Path) -> Source:
    return lambda: _read_json(path)


def celery_scheduled_file(path: Path) -> Source:
    return lambda: _read_scheduled(path)


def _open(path: Path) -> IO[bytes]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror}") from None
    if file.read(len(_MARK)) != _MARK:
        file.seek(0)
    return file


def _lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """Yield each line; None for a line longer than any record, whose rest is discarded."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) <= MAX_LINE_BYTES:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES)
        yield None


def _read_json(path: Path) -> Iterator[Record]:
    is_open = False
    with _open(path) as file:
        for number, line in enumerate(_lines(file), start=1):
            place = f"line {number}"
            if line is None:
                yield Record(place=place, reason=f"it is longer than {MAX_LINE_BYTES // 1024} kB")
                continue
            text = line.strip().removesuffix(b",").strip()
            if text in {b"", b"[", b"]"}:
                is_open = text == b"[" or (is_open and text != b"]")
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError):
                record = None
            if isinstance(record, dict):
                yield Record(place=place, values=flatten(record))
            else:
                yield Record(place=place, reason="it is no JSON object on a line of its own")
    if is_open:
        raise SourceError(f"{path} is cut off: its list has no end")


def _read_table(path: Path) -> Iterator[Record]:
    with _open(path) as file:
        reader = csv.reader(_texts(file), strict=True)
        head: list[str] | None = None
        while True:
            # A record may hold line breaks within quotes; its place is the line on which it begins.
            place = f"line {reader.line_num + 1}"
            try:
                cells = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                if head is None:
                    raise SourceError(f"{path} cannot be read as CSV: {error}") from None
                yield Record(place=place, reason=f"it cannot be read as CSV: {error}")
                continue
            if head is None:
                head = _head(cells, path)
            elif cells and len(cells) != len(head):
                yield Record(place=place, reason=f"it has {len(cells)} cells where the head has {len(head)}")
            elif cells:
                yield Record(place=place, values=dict(zip(head, cells, strict=True)))
        if head is None:
            raise SourceError(f"{path} is empty")


def _head(cells: list[str], path: Path) -> list[str]:
    head = [cell.strip() for cell in cells]
    if not any(head) or len(set(head)) < len(head):
        raise SourceError(f"the first line of {path} is no head: its columns need names, each once")
    return head


def _texts(file: IO[bytes]) -> Iterator[str]:
    for line in _lines(file):
        # Invalid UTF-8 is refused with its cell; the csv module cannot read NUL.
        yield "\ufffd\n" if line is None else line.decode("utf-8", "replace").replace("\x00", "\ufffd")


def _read_scheduled(path: Path) -> Iterator[Record]:
    """ETA tasks that Celery's workers hold: {"celery@host": [{"eta": …, "request": {…}}]}."""
    with _open(path) as file:
        content = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise SourceError(f"{path} is longer than {MAX_DOCUMENT_BYTES // 1024 // 1024} MB")
    try:
        workers = json.loads(content)
    except (ValueError, RecursionError):
        workers = None
    if not isinstance(workers, dict) or not all(isinstance(tasks, list) for tasks in workers.values()):
        raise SourceError(f"{path} is not what `celery inspect scheduled --json` prints")
    for worker, tasks in workers.items():
        for number, task in enumerate(tasks, start=1):
            place = f"{worker}, task {number}"
            request: Any = task.get("request") if isinstance(task, dict) else None
            if not isinstance(request, dict):
                yield Record(place=place, reason="it has no request")
                continue
            yield Record(
                place=place,
                values=flatten(request) | {"eta": task.get("eta"), "priority": None},
            )
