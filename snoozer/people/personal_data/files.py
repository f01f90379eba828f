"""The files of the export by their endings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from snoozer.db.models import Account
from snoozer.people.personal_data import calendar, originals, records, table


@dataclass(frozen=True)
class File:
    """A file of the export: its type, and what writes it in pieces, for a person at a time."""

    mimetype: str
    write: Callable[[Engine, Account, datetime], Iterator[bytes]]


FILES = {
    "json": File("application/json", lambda engine, who, at: records.as_json(engine, account=who, at=at)),
    "csv": File("text/csv; charset=utf-8", lambda engine, who, at: table.as_csv(engine, account=who)),
    "ics": File("text/calendar; charset=utf-8", lambda engine, who, at: calendar.as_ics(engine, account=who, at=at)),
    "zip": File("application/zip", lambda engine, who, at: originals.as_zip(engine, account=who)),
}
