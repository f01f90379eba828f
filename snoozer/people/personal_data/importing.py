"""Importing a file: it is parsed once, compared with existing data, shown, and saved in one transaction after its owner
confirms. Every row becomes the importer's, whatever address the file names.

Only the file's promises and times are trusted: its events are replaced by one, `imported`.
"""

from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from snoozer.db import accounts as accounts_db
from snoozer.db import imports, mailbox_store
from snoozer.db.models import Account
from snoozer.db.queries import imports as queries
from snoozer.db.statements import database_time
from snoozer.people import quotas
from snoozer.people.limits import Limits
from snoozer.people.personal_data.import_file import Reading
from snoozer.queue import archive, changes, events
from snoozer.snoozes.input import SnoozeError, clean_phrase, parse_preset

ROUTE = "import"
PAGE_SIZE = 500
MAX_LABEL = 40
MAX_PHRASE = 200


@dataclass(frozen=True, kw_only=True)
class Imported:
    """How many snoozes wait now, how many became history, and whether presets were taken."""

    waiting: int
    finished: int
    presets: bool


def stage(connection: Connection, *, account: Account, reading: Reading) -> None:
    """Keep the parsed file until it is confirmed, replacing an earlier one."""
    imports.discard(connection, account_id=account.id)
    import_id = imports.begin(connection, account_id=account.id, presets=reading.presets)
    for start in range(0, len(reading.rows), PAGE_SIZE):
        rows = [row.columns for row in reading.rows[start : start + PAGE_SIZE]]
        imports.add_rows(connection, import_id=import_id, rows=rows)
    imports.judge(connection, import_id=import_id, user_email=account.email)


def confirm(connection: Connection, *, account: Account, limits: Limits, with_past: bool) -> Imported | None:
    """Save new snoozes. With `with_past`, snoozes whose time has passed return now, else they become history. Returns
    None if there is no file to confirm, or the account is being closed. Raises QuotaReached."""
    pending = imports.lock(connection, account_id=account.id)
    if pending is None:
        return None
    imports.judge(connection, import_id=pending.id, user_email=account.email)
    new = queries.count_new(connection, import_id=pending.id)
    if new:
        quotas.spend_import(connection, limits, user_email=account.email, rows=new)
    archive.create_partitions(connection, months=imports.months(connection, import_id=pending.id))
    finished = imports.save_finished(
        connection, import_id=pending.id, user_email=account.email, with_past=not with_past
    )
    ids, kept = _enqueue(connection, import_id=pending.id, user_email=account.email, with_past=with_past)
    imports.save_sent(connection, import_id=pending.id, ids=ids)
    mailbox_store.move_many(connection, user_email=account.email, message_ids=kept, folder="snoozed")
    lines: list[tuple[int, dict[str, object]]] = [(id, {}) for id in (*finished, *ids)]
    events.append_many(connection, kind="imported", actor="user", route=ROUTE, lines=lines)
    presets = _save_presets(connection, account, pending.presets)
    imports.discard(connection, account_id=account.id)
    return Imported(waiting=len(ids), finished=len(finished), presets=presets)


def discard(connection: Connection, *, account: Account) -> None:
    """Discard the parsed file."""
    imports.discard(connection, account_id=account.id)


def _enqueue(connection: Connection, *, import_id: int, user_email: str, with_past: bool) -> tuple[list[int], set[str]]:
    """Enqueue what waits or is paused; returns the new ids, and their messages that are kept here. A message that is
    snoozed already keeps its snooze."""
    page = partial(imports.waiting, connection, import_id=import_id, user_email=user_email, with_past=with_past)
    ids, kept, line = list[int](), set[str](), 0
    while rows := page(after=line, batch_size=PAGE_SIZE):
        new = changes.enqueue_many(connection, user_email=user_email, terms=[row.terms for row in rows])
        ids += [id for _, id in new]
        kept |= {row.terms["message_id"] for row in rows if row.is_kept} & dict(new).keys()
        line = rows[-1].line
    return ids, kept


def _save_presets(connection: Connection, account: Account, presets: list[list[str]]) -> bool:
    """The file's own presets, if the person has none here and all of them parse."""
    now = database_time(connection)
    pairs = [(clean_phrase(label)[:MAX_LABEL], clean_phrase(phrase)) for label, phrase in presets]
    if not pairs or queries.has_presets(connection, account_id=account.id):
        return False
    try:
        for label, phrase in pairs:
            if not label or len(phrase) > MAX_PHRASE:
                return False
            parse_preset(phrase, now=now, zone=account.zone, locale=account.locale)
    except SnoozeError:
        return False
    accounts_db.save_presets(connection, account_id=account.id, presets=pairs)
    return True
