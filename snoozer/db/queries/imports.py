"""The preview of a person's import, for its page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, func, select

from snoozer.db.models import Import, ImportRow, UserPreset
from snoozer.db.queries import Found

MAX_SHOWN = 50


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How many rows have each verdict; and how many of the new ones wait, should have come back since, and are over."""

    read_at: datetime
    new: int
    waiting: int
    past: int
    finished: int
    same: int
    changed: int
    refused: int
    presets: int


def summary(connection: Connection, *, account_id: int) -> Summary | None:
    """Count what the import would do; None without a file."""
    new = ImportRow.verdict == "new"
    waits = and_(new, ImportRow.state.in_(["waiting", "paused"]))
    past = and_(new, ImportRow.state == "waiting", ImportRow.promised <= func.now())
    row = connection.execute(
        select(
            Import.created_at.label("read_at"),
            _count(new).label("new"),
            _count(waits).label("waiting"),
            _count(past).label("past"),
            _count(and_(new, ImportRow.state.in_(["sent", "cancelled"]))).label("finished"),
            _count(ImportRow.verdict == "same").label("same"),
            _count(ImportRow.verdict == "changed").label("changed"),
            _count(ImportRow.verdict == "refused").label("refused"),
            func.jsonb_array_length(Import.presets).label("presets"),
        )
        .outerjoin(ImportRow, ImportRow.import_id == Import.id)
        .where(Import.account_id == account_id)
        .group_by(Import.id)
    ).first()
    return None if row is None else Summary(**{**row._mapping, "waiting": row.waiting - row.past})


def count_new(connection: Connection, *, import_id: int) -> int:
    """How many snoozes confirming would add."""
    new = select(func.count()).where(ImportRow.import_id == import_id, ImportRow.verdict == "new")
    return connection.execute(new).scalar_one()


def rows(connection: Connection, *, account_id: int, verdict: str) -> Sequence[Found]:
    """The first rows of a verdict, in the order of the file."""
    found = select(ImportRow.line, ImportRow.reason, ImportRow.subject, ImportRow.promised)
    return connection.execute(
        found.join(Import, Import.id == ImportRow.import_id)
        .where(Import.account_id == account_id, ImportRow.verdict == verdict)
        .order_by(ImportRow.line)
        .limit(MAX_SHOWN)
    ).all()


def has_presets(connection: Connection, *, account_id: int) -> bool:
    """Whether a person has presets of their own."""
    return (
        connection.execute(select(UserPreset.position).where(UserPreset.account_id == account_id)).first() is not None
    )


def _count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    return func.count().filter(condition)
