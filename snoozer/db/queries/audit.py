"""The audit log for pages, newest first by id; optionally filtered by actor, act, snooze or time."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Select, func, select

from snoozer.db.models import AuditEntry
from snoozer.db.queries import Found

PAGE_SIZE = 50
MAX_OF_SNOOZE = 50

# Without the hash.
_SHOWN = [column for column in AuditEntry.__table__.c if column.name != "hash"]


@dataclass(frozen=True, kw_only=True)
class Filter:
    """The wanted entries; None matches any. `since` is inclusive, `until` exclusive."""

    actor: str | None = None
    act: str | None = None
    snooze_id: int | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class AuditPage:
    """Some entries, and the id before which the next page begins; None on the last page."""

    rows: list[Found]
    before: int | None


def page(connection: Connection, wanted: Filter, *, before: int | None = None) -> AuditPage:
    """The newest entries, or those before an id. Times never go back from one id to the next, so that they are a range
    of ids."""
    entry = AuditEntry
    found = select(*_SHOWN).order_by(entry.id.desc()).limit(PAGE_SIZE + 1)
    if wanted.actor is not None:
        found = found.where(entry.actor == wanted.actor)
    if wanted.act is not None:
        found = found.where(entry.act == wanted.act)
    if wanted.snooze_id is not None:
        found = found.where(entry.snooze_id == wanted.snooze_id)
    if wanted.since is not None:
        found = found.where(entry.id >= _first_from(wanted.since).scalar_subquery())
    if wanted.until is not None:
        found = found.where(entry.id < func.coalesce(_first_from(wanted.until).scalar_subquery(), 2**63 - 1))
    if before is not None:
        found = found.where(entry.id < before)
    rows = list(connection.execute(found))
    return AuditPage(rows=rows[:PAGE_SIZE], before=rows[PAGE_SIZE - 1].id if len(rows) > PAGE_SIZE else None)


def of_snooze(connection: Connection, *, snooze_id: int) -> list[Found]:
    """The newest entries about one snooze."""
    found = select(*_SHOWN).where(AuditEntry.snooze_id == snooze_id).order_by(AuditEntry.id.desc()).limit(MAX_OF_SNOOZE)
    return list(connection.execute(found))


def _first_from(moment: datetime) -> Select[int]:
    return select(AuditEntry.id).where(AuditEntry.at >= moment).order_by(AuditEntry.at, AuditEntry.id).limit(1)
