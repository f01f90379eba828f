"""The export as JSON: one array, in which each line is a record, so that programs may read it line by line.

The records are described in docs/export.md; VERSION grows when one is changed so that older readers would misread it.
"""

import json
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

from sqlalchemy import Engine

from snoozer.db.models import Account
from snoozer.db.queries import Found
from snoozer.db.queries.personal_data import SECTIONS
from snoozer.db.state_words import public_state
from snoozer.people.personal_data.pages import section_rows, snooze_pages
from snoozer.queue.promise import EXPORTED

FORMAT, VERSION = "snoozer-export", 1

Record = dict[str, Any]

# The columns of a snooze that a record has by the same name.
SNOOZE_COLUMNS = (
    *("subject", "sender_email", "created_at", "finished_at", "note", "recurrence", "wall_time", "zone", "time_kind"),
    *("snooze_duration_hours", "mailbox", "origin_folder", "last_error", *EXPORTED),
)
SEND_COLUMNS = (
    *("channel", "state", "reserved_at", "sent_at", "reminder_message_id", "bytes_sha256", "smtp_code", "reply"),
    *("late", "resolution"),
)


def as_json(engine: Engine, *, account: Account, at: datetime) -> Iterator[bytes]:
    """The whole export, in pieces."""
    start = "[\n"
    for record in records(engine, account=account, at=at):
        yield f"{start}{_line(record)}".encode()
        start = ",\n"
    yield b"\n]\n"


def records(engine: Engine, *, account: Account, at: datetime) -> Iterator[Record]:
    """The head, the account, each table's rows, and each snooze with its sends and events."""
    yield {"type": "export", "format": FORMAT, "version": VERSION, "exported_at": at}
    yield {"type": "account", **_values(account, ("email", "zone", "locale", "role", "created_at", "verified_at"))}
    for section in SECTIONS:
        for row in section_rows(engine, section, account=account):
            yield {"type": section.type, **_values(row, section.columns)}
    for page in snooze_pages(engine, user_email=account.email):
        for row in page.snoozes:
            yield snooze_record(row)
        for row in page.sends:
            head = {"type": "send", "snooze": row.snooze_id, "promised": row.scheduled_for}
            yield {**head, **_values(row, SEND_COLUMNS)}
        for row in page.events:
            # Who: "user", "operator", "worker" or "clock"; which of them is not the person's.
            actor = row.actor.partition(":")[0]
            yield {"type": "event", "snooze": row.snooze_id, "actor": actor, **_values(row, EVENT_COLUMNS)}


EVENT_COLUMNS = ("at", "kind", "route", "detail")


def snooze_record(row: Found) -> Record:
    """A snooze, live or archived."""
    state = public_state(row.state, row.why)
    exported = "waiting" if state in {"asleep", "due", "claimed"} else state
    head = {"type": "snooze", "id": row.id, "state": exported, "message_id": row.message_id, "promised": row.promise}
    return {**head, **_values(row, SNOOZE_COLUMNS)}


def _values(row: Any, names: tuple[str, ...]) -> Record:
    return {name: getattr(row, name) for name in names}


def _line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, (date, time)):
        return value.isoformat()
    raise TypeError(type(value).__name__)
