"""Pauses for pages: active and ended ones, and the holds on a person's snoozes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from snoozer.db.models import Pause, Snooze
from snoozer.db.pauses import Kind
from snoozer.db.queries import Cursor, Found, Page, columns, make_page

PAGE_SIZE = 50
MAX_ACTIVE = 200
MAX_COUNTED = 10_000

KINDS: tuple[Kind, ...] = get_args(Kind)
# Pauses of more than one person.
BROAD: tuple[Kind, ...] = ("all", "channel", "class", "domain")

_COLUMNS = "id kind value actor reason since until ended_at ended_by"
IS_ACTIVE: ColumnElement[bool] = and_(
    Pause.ended_at.is_(None), or_(Pause.until.is_(None), Pause.until > func.clock_timestamp())
)


@dataclass(frozen=True, kw_only=True)
class Holds:
    """Since when operators hold back a person's snoozes; None if they do not. `mail`: reminders to everybody or to this
    person; `returns`: messages, too. `invalid`: their address takes no mail, and there is no other one."""

    mail: datetime | None = None
    returns: datetime | None = None
    invalid: datetime | None = None


NOTHING_HELD = Holds()


def active(connection: Connection, *, kinds: Sequence[Kind] = KINDS) -> Sequence[Found]:
    """The active pauses, newest first, each with how many snoozes it has set aside (MAX_COUNTED + 1: more)."""
    return connection.execute(
        select(*columns(Pause, _COLUMNS), _set_aside().label("set_aside"))
        .where(Pause.ended_at.is_(None), Pause.kind.in_(kinds))
        .order_by(Pause.id.desc())
        .limit(MAX_ACTIVE)
    ).all()


def over(connection: Connection, *, before: Cursor | None = None) -> Page[Found]:
    """The next `PAGE_SIZE` ended pauses, newest first."""
    chosen = (
        select(*columns(Pause, _COLUMNS))
        .where(Pause.ended_at.is_not(None))
        .order_by(Pause.id.desc())
        .limit(PAGE_SIZE + 1)
    )
    if before is not None:
        chosen = chosen.where(Pause.id < before.id)
    return make_page(connection.execute(chosen).all(), size=PAGE_SIZE, at=lambda row: row.since)


def one(connection: Connection, *, id: int) -> Found | None:
    """A pause, with how many snoozes it has set aside."""
    return connection.execute(
        select(*columns(Pause, _COLUMNS), _set_aside().label("set_aside")).where(Pause.id == id)
    ).first()


def holds(connection: Connection, *, email: str) -> Holds:
    """The holds by operators on a person's snoozes, for their pages."""

    def since(*scopes: ColumnElement[bool]) -> Any:
        return select(func.min(Pause.since)).where(IS_ACTIVE, or_(*scopes)).scalar_subquery()

    own = [
        Pause.kind == "all",
        and_(Pause.kind == "person", Pause.value == email),
        and_(Pause.kind == "domain", Pause.value == func.snooze_recipient_domain(email)),
    ]
    row = connection.execute(
        select(
            since(*own, and_(Pause.kind == "channel", Pause.value == "mail")).label("mail"),
            since(*own, and_(Pause.kind == "channel", Pause.value == "mailbox")).label("returns"),
            since(and_(Pause.kind == "invalid", Pause.value == email, func.snooze_recipient(email) == email)).label(
                "invalid"
            ),
        )
    ).one()
    return Holds(**row._mapping)


def invalid(connection: Connection, *, email: str) -> int | None:
    """The pause of an address that takes no mail; None if it takes mail."""
    marked = and_(Pause.kind == "invalid", Pause.value == email, Pause.ended_at.is_(None))
    return connection.execute(select(Pause.id).where(marked)).scalar_one_or_none()


def count_invalid(connection: Connection) -> int:
    """How many addresses take no mail."""
    marked = select(func.count()).where(Pause.kind == "invalid", Pause.ended_at.is_(None))
    return connection.execute(marked).scalar_one()


def _set_aside() -> Any:
    rows = select(Snooze.id).where(Snooze.paused_by == Pause.id).limit(MAX_COUNTED + 1).correlate(Pause).subquery()
    return select(func.count()).select_from(rows).scalar_subquery()
