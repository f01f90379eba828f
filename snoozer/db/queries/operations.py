"""Operations for operators' pages: the list, newest first, one operation, and the results of its rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Select, select

from snoozer.db.models import OperationMember, StoredOperation
from snoozer.db.queries import Cursor, Found, Page, columns, make_page

PAGE_SIZE = 50

_COLUMNS = (
    "id act parameters actor reason created_at members done unchanged failed worked_at cancelled_at cancelled_by "
    "finished_at"
)


@dataclass(frozen=True, kw_only=True)
class Members:
    """Some rows of an operation, and after which id the next page begins."""

    rows: Sequence[Found]
    next_after: int | None


def page(connection: Connection, *, before: Cursor | None = None) -> Page[Found]:
    """The next `PAGE_SIZE` operations, newest first."""
    chosen = select(*columns(StoredOperation, _COLUMNS)).order_by(StoredOperation.id.desc()).limit(PAGE_SIZE + 1)
    if before is not None:
        chosen = chosen.where(StoredOperation.id < before.id)
    return make_page(connection.execute(chosen).all(), size=PAGE_SIZE, at=lambda row: row.created_at)


def one(connection: Connection, *, id: int) -> Found | None:
    """An operation."""
    return connection.execute(select(*columns(StoredOperation, _COLUMNS)).where(StoredOperation.id == id)).first()


def members(connection: Connection, *, id: int, result: str | None, after: int = 0) -> Members:
    """The next `PAGE_SIZE` rows of an operation by their ids: all, those with this result, or the `open` ones."""
    chosen: Select[tuple[object, ...]] = (
        select(*columns(OperationMember, "snooze_id result detail decided_at"))
        .where(OperationMember.operation_id == id, OperationMember.snooze_id > after)
        .order_by(OperationMember.snooze_id)
        .limit(PAGE_SIZE + 1)
    )
    if result == "open":
        chosen = chosen.where(OperationMember.result.is_(None))
    elif result is not None:
        chosen = chosen.where(OperationMember.result == result)
    rows = connection.execute(chosen).all()
    shown = rows[:PAGE_SIZE]
    return Members(rows=shown, next_after=shown[-1].snooze_id if len(rows) > PAGE_SIZE else None)
