"""The accounts, for admins: all of them by id, or those with a role."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select
from sqlalchemy.orm import Session

from snoozer.db.models import Account
from snoozer.db.roles import ROLES, Role

PAGE_SIZE = 50


@dataclass(frozen=True, kw_only=True)
class AccountPage:
    """Some accounts, and the id behind which the next page begins; None on the last page."""

    rows: list[Account]
    after: int | None


def page(connection: Connection, *, role: Role | None = None, after: int = 0) -> AccountPage:
    """Accounts by their ids: all of them, or those with a role, given or by a group."""
    found = select(Account).where(Account.id > after).order_by(Account.id).limit(PAGE_SIZE + 1)
    if role is not None:
        found = found.where(_has_role(role))
    with Session(bind=connection, expire_on_commit=False) as session:
        rows = list(session.execute(found).scalars())
    return AccountPage(rows=rows[:PAGE_SIZE], after=rows[PAGE_SIZE - 1].id if len(rows) > PAGE_SIZE else None)


def with_roles(connection: Connection, *, wanted: Sequence[Role]) -> list[Account]:
    """All accounts that have one of the roles, the highest role first."""
    found = select(Account).where(or_(*map(_has_role, wanted))).order_by(Account.id)
    with Session(bind=connection, expire_on_commit=False) as session:
        return sorted(session.execute(found).scalars(), key=lambda account: -ROLES.index(account.role))


def find(connection: Connection, *, id: int) -> Account | None:
    """One account, open or closed."""
    with Session(bind=connection, expire_on_commit=False) as session:
        return session.get(Account, id)


def _has_role(role: Role) -> ColumnElement[bool]:
    """Whether the higher of both roles is this one."""
    lower = ROLES[: ROLES.index(role) + 1]
    return and_(
        Account.given_role.in_(lower),
        func.coalesce(Account.group_role, "user").in_(lower),
        or_(Account.given_role == role, func.coalesce(Account.group_role, "user") == role),
    )
