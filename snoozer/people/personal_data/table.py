"""The snoozes as a table (CSV, RFC 4180) for spreadsheets, and the cells of such a table.

A spreadsheet treats a cell that begins with certain characters as a formula, even in a stranger's subject. Such a cell
gets an apostrophe in front, and so does a cell that begins with an apostrophe: removing one restores the text.
"""

import csv
import json
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from typing import Any

from sqlalchemy import Engine

from snoozer.db.models import Account
from snoozer.people.personal_data.pages import snooze_pages
from snoozer.people.personal_data.records import snooze_record
from snoozer.queue.promise import EXPORTED
from snoozer.timephrase.zones import local

# A new column is the last one, so that the others keep their places.
_COLUMNS = (
    *("state", "promised", "subject", "sender_email", "note", "recurrence", "message_id", "zone", "time_kind"),
    *("wall_time", "reply_policy", "reply_scope", "created_at", "finished_at", *EXPORTED),
)
COLUMNS = tuple(dict.fromkeys(_COLUMNS))
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
# Spreadsheets recognise UTF-8 only by this mark.
_MARK = "\ufeff"


def as_csv(engine: Engine, *, account: Account) -> Iterator[bytes]:
    """Every snooze of a person, live and archived, in pieces. Times are in the person's zone, with the offset."""
    yield _rows([COLUMNS], start=_MARK)
    for page in snooze_pages(engine, user_email=account.email, alone=True):
        records = [snooze_record(row) for row in page.snoozes]
        yield _rows([[_text(record[name], account.zone) for name in COLUMNS] for record in records])


def write_cell(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def read_cell(cell: str) -> str:
    """The text of a cell that `write_cell` made."""
    return cell.removeprefix("'")


def _text(value: Any, zone: str) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return (value if value.tzinfo is None else local(value, zone)).isoformat()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def _rows(rows: Any, *, start: str = "") -> bytes:
    text = StringIO(start)
    text.seek(0, 2)
    csv.writer(text).writerows([[write_cell(cell) for cell in row] for row in rows])
    return text.getvalue().encode("utf-8", "replace")
